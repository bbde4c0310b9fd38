"""What the documents point to is there, and nothing that has a page is left out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shakedown.units import NS_PER_S, parse_duration_ns

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PROTOCOLS = sorted(path.stem for path in ROOT.glob("protocols/*.toml"))
PROFILES = sorted(path.stem for path in ROOT.glob("drives/*.toml"))


def anchor(title: str) -> str:
    """The anchor that a heading gets where the documents are shown."""
    return re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    broken = []
    # What programs print stands indented, and is full of brackets.
    prose = re.sub(r"^    .*$", "", document.read_text(), flags=re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://", target):
            continue
        path, _, section = target.partition("#")
        there = document.parent / path if path else document
        sections = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE) if section and there.is_file() else []
        if not there.exists() or (section and section not in map(anchor, sections)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_command_of_several_lines_can_be_pasted(document: Path) -> None:
    """What stands indented more deeply under a command goes on with it."""
    assert re.findall(r"^    shakedown .*[^\\]\n     +.*", document.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_a_page_that_the_readme_links_to(name: str) -> None:
    assert f"(docs/protocols/{name}.md)" in (ROOT / "README.md").read_text()
    page = (ROOT / "docs" / "protocols" / f"{name}.md").read_text()
    text = (ROOT / "protocols" / f"{name}.toml").read_text()
    parameters = re.findall(r"^(\w+) = ", text.partition("[parameters]")[2].partition("[[")[0], re.MULTILINE)
    steps = re.findall(r"\[\[steps\]\]\nname = \"(.*)\"", text)
    assert parameters
    assert [word for word in (*parameters, *steps) if f"`{word}`" not in page] == []


def test_every_folder_is_on_the_map() -> None:
    places = "".join(re.findall(r"^\| (`.*?) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE))
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    folders = {line.split("/")[0] for line in tracked.splitlines() if "/" in line} - {"docs"}
    if not folders:
        pytest.skip("this is no checkout")
    folders |= {path.parent.name for path in ROOT.glob("crates/*/benches/*.rs")}
    assert [name for name in sorted(folders) if f"{name}/" not in places and f"/{name}`" not in places] == []


def test_what_cliff_costs_at_most_is_what_its_parameters_allow() -> None:
    text = (ROOT / "protocols" / "cliff.toml").read_text()
    allowed = dict(re.findall(r'^(limit|hold|patience|tail) = "(.*?)"', text, re.MULTILINE))
    hours = [parse_duration_ns(allowed[name]) / (3600 * NS_PER_S) for name in ("limit", "hold", "patience", "tail")]
    page = (ROOT / "docs" / "protocols" / "cliff.md").read_text()
    assert f"at the most {' + '.join(f'{each:g}' for each in hours)} hours" in page


@pytest.mark.parametrize("name", PROTOCOLS)
def test_parameters_in_the_notation_of_fio_are_marked(name: str) -> None:
    text = (ROOT / "protocols" / f"{name}.toml").read_text()
    page = (ROOT / "docs" / "protocols" / f"{name}.md").read_text()
    jobs = "".join(re.findall(r'job = """(.*?)"""', text, re.DOTALL))
    assert set(re.findall(r"\$\{(\w+)\}", jobs)) == {
        parameter
        for row in re.findall(r"^\| (`.*?) \|.*\| fio \|$", page, re.MULTILINE)
        for parameter in re.findall(r"`(\w+)`", row)
    }


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_has_a_row(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", (ROOT / "docs" / "profiles.md").read_text(), re.MULTILINE)
