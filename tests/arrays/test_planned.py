"""``rebuild --plan`` of modelled drives: what the rebuild refuses has no plan, and what it does not refuse has one."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from arrays.test_rebuild import IRONWOLF, JOB, RED
from shakedown.array import real
from shakedown.array.order import RebuildOrder
from shakedown.array.planned import plan_array, plan_arrays
from shakedown.array.settings import parse_options
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.device.array import md, zfs
from shakedown.device.disk.medium import Guarded
from shakedown.device.disk.rules import Refusal
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError

BEHIND = 'format_version = 1\n[[faults]]\nkind = "latent-sectors"\nsectors = [[90000000000, 8]]\nretry_s = 1\n'


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("raidz1", {"width": 300}),
        ("draid1", {"width": 300}),
        ("draid2", {"width": 12, "settings": ("draid=4d:11s",)}),
        ("draid2", {"width": 12, "settings": ("draid=0d:1s",)}),
        ("draid2", {"width": 12, "settings": ("draid=4d:1s", "spare=3")}),
        ("raidz2", {"width": 4, "settings": ("second-failure=9@1h",)}),
        ("raidz2", {"width": 4, "settings": ("recordsize=3KiB",)}),
        ("raid6", {"width": 4, "settings": ("chunk=3KiB",)}),
        ("raid1", {"width": 2, "member_size": "0"}),
        ("raid6", {"width": 4, "faults": True}),
        ("raid6", {"width": 4, "load": "[a]\nrw=sideways\n"}),
        ("raid5", {"width": 4, "baseline": "model:hd103uj"}),
        ("raid5", {"width": 4, "seeds": -1}),
        ("raid5", {"width": 4, "settings": ("speed-min=300MiB",)}),
    ],
)
def test_what_the_rebuild_refuses_has_no_plan(layout: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "behind.toml").write_text(BEHIND)
    given: dict[str, Any] = {"scale": "1/1000", "seeds": 1, "baseline": "none", "out": tmp_path / "out", **options}
    if "faults" in given:
        given["faults"] = (f"1={tmp_path / 'behind.toml'}",)
    if "load" in given:
        given["load"] = _job(tmp_path, given["load"])
    refused = []
    for plan in (False, True):
        with pytest.raises(UsageError) as error:
            verb(layout, IRONWOLF, options=RebuildOptions(**given, plan=plan))
        refused.append((str(error.value), error.value.hint))
    assert refused[0] == refused[1]


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_a_plan_rebuilds_nothing(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    given: dict[str, Any] = {"width": 6, "member_size": "3500GiB", "replace_with": RED, "state": "used", "out": out}
    assert verb(layout, IRONWOLF, options=RebuildOptions(**given, load=_job(tmp_path, JOB), plan=True)) == 0
    assert "has room for" in capsys.readouterr().out
    assert not out.exists()


def test_a_draid_without_spares_is_told_how_it_gets_one(tmp_path: Path) -> None:
    for settings in (("spare=0",), ("draid=4d:0s", "spare=0")):
        given: dict[str, Any] = {"width": 12, "settings": settings, "scale": "1/1000", "out": tmp_path / "out"}
        with pytest.raises(UsageError, match="this dRAID has no distributed spare") as error:
            verb("draid2", IRONWOLF, options=RebuildOptions(**given, plan=True))
        assert "`--set draid=8d:1s` makes one" in error.value.hint


GIB = 2**30


def _real(layout: str, **changed: Any) -> RebuildOrder:
    given: dict[str, Any] = {"fill": 0.5, "options": parse_options(layout, ()), **changed}
    return RebuildOrder(layout, ("/dev/sda", "/dev/sdb", "/dev/sdc"), "/dev/sdd", **given)


def test_the_plan_of_real_drives_tells_size_fates_bytes_and_hours() -> None:
    sizes = dict.fromkeys(("/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"), 280 * 10**9)
    told = plan_array(_real("raid5"), sizes, ["baseline", "new", "used"], are_blank=False)
    array, fails, writes, takes = told.lines
    assert array.startswith("array       raid5 of 3 drives. The array uses 260.8 GiB of each drive, has room for")
    assert fails == (
        "will fail   /dev/sdc, which is wiped and put in again; then /dev/sdc, which is wiped, and /dev/sdd is put in; "
        "then /dev/sdd, which is wiped and put in again"
    )
    # Filled by half and read twice, two of three being data; made redundant once, and rebuilt three times.
    assert told.document["written_bytes"] == (3 * 0.5 + 1 + 3) * 280 * 10**9
    assert told.document["seconds_at_least"] == round(1000 * (0.5 + 2 / 3 + 1 + 3))
    assert writes == "will write  about 1.4 TiB, over all drives"
    assert takes == "will take   at least 86 min, if they are hard drives"
    blank = plan_array(_real("raid5"), sizes, ["new"], are_blank=True).document
    assert blank["written_bytes"] == (3 * 0.5 + 1) * 280 * 10**9
    slow = _real("raid5", options=parse_options("raid5", ("speed-max=28000000",)))
    assert plan_array(slow, sizes, ["new"], are_blank=True).document["seconds_at_least"] > 9000
    pool = plan_array(_real("raidz1"), sizes, ["new"], are_blank=False).document
    # ZFS lays a partition on each, of whole MiB and some 9 of them less.
    assert pool["written_bytes"] == (3 * 0.5 + 0.5) * (280 * 10**9 // 2**20 - 9) * 2**20


def test_the_plan_of_a_matrix_is_of_all_its_arrays() -> None:
    sizes = dict.fromkeys(("/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"), 280 * 10**9)
    orders = [_real("raid5"), _real("raidz1")]
    both = plan_arrays(orders, sizes, are_blank=True)
    each = [plan_array(order, sizes, ["new"], are_blank=True).document for order in orders]
    assert both.document["written_bytes"] == sum(one["written_bytes"] for one in each)
    assert both.lines[:2] == (
        "array       2 arrays, one after the other",
        "will fail   /dev/sdc, which is wiped, and /dev/sdd is put in",
    )


@pytest.mark.parametrize(("layout", "kind"), [("raid5", md), ("raidz1", zfs)])
@pytest.mark.parametrize("is_planned", [True, False])
def test_where_there_is_no_md_or_zfs_the_plan_ends_as_the_rebuild_does(
    layout: str, kind: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_planned: bool
) -> None:
    """And says so beside a refusal, too, which comes first."""

    class Given:
        def __init__(self, text: str, *_: object, **__: object) -> None:
            self.identity = SimpleNamespace(text=text, capacity_bytes=GIB)
            self.guarded = Guarded(("device",), {}, (), refusals, ())

        def is_blank(self) -> bool:
            return True

    def missing(_: object) -> None:
        raise EnvironmentFailure("it is not here", hint="apt")

    refusals: tuple[Refusal, ...] = ()
    monkeypatch.setattr(real, "Drive", Given)
    monkeypatch.setattr(real, "devices_apart", list)
    monkeypatch.setattr(kind, "require", missing)
    options = RebuildOptions(plan=is_planned, out=tmp_path / "out", replace_with="/dev/sdd")
    with pytest.raises(EnvironmentFailure, match="it is not here") as failed:
        verb(layout, "/dev/sda", "/dev/sdb", "/dev/sdc", options=options)
    assert failed.value.exit_status == 5
    assert len(failed.value.plan) == 5
    assert failed.value.plan[-1].lines[-1] == "missing     it is not here"
    assert not (tmp_path / "out").exists()
    refusals = (Refusal("consent", "nobody has agreed", ""),)
    with pytest.raises(RefusedError) as refused:
        verb(layout, "/dev/sda", "/dev/sdb", "/dev/sdc", options=options)
    assert refused.value.plan[-1].document["missing"] == "it is not here"


def _job(folder: Path, text: str) -> Path:
    path = folder / "users.fio"
    path.write_text(text)
    return path
