"""The report in a real Chromium, opened from a file."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.report import html
from shakedown.result.folder import read_run

from . import synthetic
from .test_rebuilds import FAILED, rebuilt

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

DIP_AT_S = 50_000
READY = "window.shakedownPictures?.length > 0"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(run_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return html.write([read_run(each) for each in run_dirs], tmp_path_factory.mktemp("demo") / "report.html")


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A day with the dip, and the same day without."""
    folder = tmp_path_factory.mktemp("days")
    return {
        name: html.write([read_run(synthetic.day(folder / name, at))], folder / f"{name}.html")
        for name, at in (("dip", DIP_AT_S), ("control", None))
    }


@contextmanager
def opened(browser: Browser, report: Path, **options: Any) -> Iterator[Page]:
    """The report in a page that must not complain and must not ask for anything but itself."""
    page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | options))
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_function(READY)
    yield page
    assert complaints == []
    assert requests == [report.as_uri()]
    page.close()


def settle(page: Page) -> None:
    """Let the pictures be painted."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


INK_NEAR_ZERO = """([at_s, color]) => {
  const plot = shakedownPictures[0].plots[0], ratio = devicePixelRatio;
  const x = Math.round(plot.valToPos(at_s, "x", true)), zero = plot.valToPos(0, "y", true);
  const height = Math.round(20 * ratio), top = Math.round(zero - 2 * ratio - height);
  const { data } = plot.ctx.getImageData(x - 3, top, 7, height);
  const rows = new Set();
  for (let i = 0; i < data.length; i += 4) {
    const distance = Math.hypot(data[i] - color[0], data[i + 1] - color[1], data[i + 2] - color[2]);
    if (data[i + 3] > 128 && distance < 90) rows.add(Math.floor(i / 28));
  }
  return rows.size / height;
}"""
LIGHT_CANDIDATE, DARK_CANDIDATE = [0xB8, 0x48, 0x0A], [0xF0, 0x89, 0x4A]


@pytest.mark.parametrize("size", [(1280, 900, 1), (390, 844, 3), (2560, 1440, 2)])
def test_one_second_in_a_day_reaches_down_to_zero(
    browser: Browser, days: dict[str, Path], size: tuple[int, int, int]
) -> None:
    width, height, ratio = size
    options = {"viewport": {"width": width, "height": height}, "device_scale_factor": ratio}
    found = {}
    for name, report in days.items():
        with opened(browser, report, **options) as page:
            settle(page)
            found[name] = page.evaluate(INK_NEAR_ZERO, [DIP_AT_S, LIGHT_CANDIDATE])
    assert found["dip"] > 0.9
    assert found["control"] == 0


def test_every_canvas_is_painted(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        settle(page)
        shares = page.evaluate("""() => [...document.querySelectorAll("canvas")].map((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let painted = 0;
          for (let i = 3; i < data.length; i += 4) painted += data[i] > 0;
          return painted / (canvas.width * canvas.height);
        })""")
        assert len(shares) == 6
        assert min(shares) > 0.05


def scale(page: Page) -> list[float]:
    values: list[float] = page.evaluate(
        "shakedownPictures[0].plots.flatMap((plot) => [plot.scales.x.min, plot.scales.x.max])"
    )
    return values


def test_drag_zooms_both_pictures_and_a_double_click_goes_back(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        whole = scale(page)
        over = page.locator(".u-over").first
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
        page.mouse.up()
        settle(page)
        assert scale(page) == pytest.approx([whole[1] * 0.25, whole[1] * 0.5] * 2, rel=0.02)
        page.mouse.dblclick(box["x"] + 50, middle)
        settle(page)
        assert scale(page) == whole


def test_the_keyboard_zooms_and_reads(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        whole = scale(page)
        page.locator(".plot").first.focus()
        page.keyboard.press("ArrowRight")
        assert "MiB/s" in page.locator(".readout td").first.inner_text()
        page.keyboard.press("+")
        settle(page)
        assert scale(page)[1] - scale(page)[0] == pytest.approx((whole[1] - whole[0]) / 2, rel=0.02)
        page.keyboard.press("Escape")
        settle(page)
        assert scale(page) == whole


def test_the_cursor_reads_what_was_measured(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        page.locator(".u-over").nth(2).scroll_into_view_if_needed()
        page.locator(".u-over").nth(2).hover(position={"x": 100, "y": 60})
        settle(page)
        rows = page.locator("figure").nth(1).locator(".readout tbody tr")
        candidate, baseline = (float(rows.nth(i).locator("td").first.inner_text().split()[0]) for i in range(2))
        assert 4 < candidate < 25
        assert 180 < baseline < 240


def test_latency_scale_steps_and_lines_can_be_chosen(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        figure = page.locator("figure").nth(2)
        assert page.evaluate("shakedownPictures[2].plots[1].scales.y.distr") == 3
        figure.get_by_label("linear").check()
        assert page.evaluate("shakedownPictures[2].plots[1].scales.y.distr") == 1
        figure.get_by_label("collapse").check()
        assert page.evaluate("shakedownPictures[2].view.sides.length") == 2
        marks = page.evaluate("shakedownPictures[2].view.sides[0].marks")
        assert [mark["text"] for mark in marks] == ["cliff after 92 min"]
        assert marks[0]["at_s"] == pytest.approx(92 * 60, rel=0.01)
        figure.get_by_label("max").uncheck()
        settle(page)
        assert page.evaluate("shakedownPictures[2].plots[1].series.filter((line) => line.show).length") == 5


def test_dark_is_dark_and_follows_a_change(browser: Browser, days: dict[str, Path]) -> None:
    with opened(browser, days["dip"], color_scheme="dark") as page:
        settle(page)
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(25, 26, 27)"
        assert page.evaluate(INK_NEAR_ZERO, [DIP_AT_S, DARK_CANDIDATE]) > 0.9
        page.emulate_media(color_scheme="light")
        settle(page)
        assert page.evaluate(background) == "rgb(253, 252, 249)"
        assert page.evaluate(INK_NEAR_ZERO, [DIP_AT_S, LIGHT_CANDIDATE]) > 0.9


def test_a_phone_needs_no_sideways_scrolling(browser: Browser, demo: Path) -> None:
    with opened(browser, demo, viewport={"width": 360, "height": 740}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 360


LINES = """() => [...document.querySelectorAll("table.findings tbody tr")].map((row) =>
  ["Published", "Ours is"].map((name) =>
    [...row.querySelectorAll(`td[data-name="${name}"] > div`)].map((line) => line.getBoundingClientRect().top)))"""


def test_a_published_value_and_what_ours_is_stand_on_one_line(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        rows = page.evaluate(LINES)
    assert max(len(published) for published, _ in rows) > 1
    for published, ours in rows:
        assert published == pytest.approx(ours, abs=1)


LISTEN = """() => {
  const paint = CanvasRenderingContext2D.prototype.fillText;
  window.painted = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    window.painted.push([text, y / devicePixelRatio]);
    paint.apply(this, arguments);
  };
  window.dispatchEvent(new Event("resize"));
  shakedownPictures[2].draw();
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_marks_are_named_above_the_plot_each_in_a_line_of_its_own(browser: Browser, demo: Path, width: int) -> None:
    with opened(browser, demo, viewport={"width": width, "height": 844}) as page:
        page.evaluate(LISTEN)
        settle(page)
        top = page.evaluate("shakedownPictures[2].plots[0].bbox.top / devicePixelRatio")
        heights = {text: y for text, y in page.evaluate("window.painted") if " after " in text}
        assert [text.split(" after ")[0] for text in sorted(heights, key=heights.__getitem__)] == ["cliff", "recovered"]
        cliff, recovered = sorted(heights.values())
        assert recovered - cliff >= 11
        assert recovered + 11 <= top


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The demo's own protocols on its own drives, these at a fiftieth of their size."""
    folder = tmp_path_factory.mktemp("modelled")
    settings = {"random-1m": {}, "sequential-32k": {"amount": "3G"}, "cliff": {"limit": "1h", "hold": "2min"}}
    settings["cliff"] |= {"confirm": "20s", "window": "5min", "patience": "2h", "tail": "10min"}
    order = Order("model:wd40efax", "model:st12000vn0007", scale_divisor=50)
    for name, chosen in settings.items():
        run(load_protocol(name, chosen), order, folder / name, Listener())
    return [folder / name for name in settings]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_real_run_fits_the_page_and_a_megabyte(
    browser: Browser, modelled: list[Path], tmp_path: Path, width: int
) -> None:
    report = html.write([read_run(each) for each in modelled], tmp_path / "report.html")
    assert report.stat().st_size < 1_000_000
    with opened(browser, report, viewport={"width": width, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("figure").count() == 3
        short = page.locator(".short").bounding_box()
        assert short is not None
        assert short["y"] + short["height"] < 800, "the verdict in short stands on the first screen"
        figure = page.locator("figure").nth(2)
        for step in ("collapse", "drain"):
            figure.get_by_role("radio", name=step).check()
            settle(page)


def test_hostile_names_are_only_text(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>"
    folder = synthetic.day(tmp_path / "day", None, model=evil, details={"serial": evil, evil: "<b>bold"})
    with opened(browser, html.write([read_run(folder)], tmp_path / "report.html")) as page:
        assert page.locator("h1").inner_text() == evil
        assert page.locator(".readout tbody th").inner_text() == evil
        assert page.evaluate("window.broken") is None
        assert page.locator("img").count() == 0


def test_the_policy_stops_requests_and_foreign_scripts(browser: Browser, days: dict[str, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        page = browser.new_page()
        page.goto(days["control"].as_uri())
        page.wait_for_function(READY)
        page.evaluate(
            """(address) => {
              const image = new Image(), script = document.createElement("script");
              image.src = address;
              script.textContent = "window.broken = 1";
              document.body.append(image, script);
            }""",
            address,
        )
        assert page.evaluate("(address) => fetch(address).then(() => 'sent', () => 'stopped')", address) == "stopped"
        assert page.evaluate("window.broken") is None
        page.close()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_it_can_be_read_without_seeing(browser: Browser, demo: Path) -> None:
    with opened(browser, demo) as page:
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
        assert levels[0] == 1
        unnamed = page.evaluate("""[...document.querySelectorAll("input,button,canvas,[role=region]")].filter(
          (e) => !(e.ariaLabel || e.labels?.length || e.textContent)).length""")
        assert unnamed == 0
        assert page.evaluate("document.querySelectorAll('th:not([scope])').length") == 0
        assert page.evaluate("document.querySelectorAll('[id]').length") == page.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size"
        )


def test_a_run_that_was_stopped_at_once_has_a_page_too(browser: Browser, tmp_path: Path) -> None:
    folder = synthetic.day(tmp_path / "day", None, steps=[], wanted=[], status="interrupted", scale_divisor=100)
    page = browser.new_page()
    page.goto(html.write([read_run(folder)], tmp_path / "report.html").as_uri())
    text = page.locator("main").inner_text()
    assert "Nothing was measured" in text
    assert "not complete (interrupted; shakedown run --resume goes on with it)" in text
    assert "scaled down by 100" in text
    assert page.locator("figure").count() == 0
    page.close()


def test_how_a_rebuild_ended_is_not_squeezed_in_a_narrow_window(browser: Browser, tmp_path: Path) -> None:
    runs = [rebuilt(tmp_path / name, FAILED, title=name) for name in ("raid5", "raid6")]
    with opened(browser, html.write(runs, tmp_path / "report.html"), viewport={"width": 360, "height": 740}) as page:
        cell = page.locator("td.outcome").first
        box, line = cell.bounding_box(), float(cell.evaluate("cell => parseFloat(getComputedStyle(cell).lineHeight)"))
        assert box is not None
        assert box["height"] < 1.5 * line, "it stands in one line"
