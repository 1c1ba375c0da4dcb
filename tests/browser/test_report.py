"""The report in a real browser: what is drawn, what hovering and keys say, and that nothing is fetched."""

from __future__ import annotations

import math
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from browser.chromium import Browser
from browser.report_page import Array, Page, colour, is_between, report, rgb

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture(scope="module")
def striped() -> tuple[Array, Array]:
    """Errors that a wrong tiling makes: stripes in one plane, a block in another; NaN and Inf, and one small error."""
    golden = np.random.default_rng(1).uniform(1, 2, (2, 3, 24, 32)).astype(np.float32)
    actual = golden.copy()
    actual[0, 1, :, 8::16] = 0
    actual[1, 2, 4:10, 5:15] *= 3
    actual[1, 0, 2, 3], actual[1, 0, 4, 5] = math.nan, -math.inf
    actual[0, 0, 7, 9] = np.nextafter(actual[0, 0, 7, 9], np.float32(9))
    return actual, golden


@pytest.fixture
def page(browser: Browser, tmp_path: Path, striped: tuple[Array, Array]) -> Page:
    browser.prefer("light")
    return report(browser, tmp_path, *striped)


def test_the_map_shows_stripes_blocks_and_single_elements(page: Page, striped: tuple[Array, Array]) -> None:
    actual, golden = striped
    legend = page.colours()
    for number in range(6):
        page.show(number)
        pixels, lead = page.pixels(), divmod(number, 3)
        a, g = actual[lead], golden[lead]
        same, special = a == g, ~np.isfinite(a)
        failing = ~same & ~special & (np.abs(a - g) > 0.01)
        assert pixels.shape == (24, 32, 3)
        assert ((pixels == colour(legend, "the same value")).all(axis=-1) == same).all()
        assert ((pixels == colour(legend, "NaN or Inf")).all(axis=-1) == special).all()
        assert is_between(pixels[failing], colour(legend, "fails")).all()
        assert is_between(pixels[~same & ~special & ~failing], colour(legend, "differs, passes")).all()
    assert (actual[0, 1] != golden[0, 1]).sum() == 48  # the stripes were there to be seen
    assert page.browser.complaints() == []


def test_colours_are_told_apart(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.browser.prefer(scheme)
        ends = np.concatenate(list(page.colours().values())).astype(int)
        apart = np.abs(ends[:, None] - ends[None]).sum(axis=-1) + 999 * np.eye(len(ends), dtype=int)
        assert len(ends) == 6
        assert apart.min() > 40


def test_the_worst_plane_is_shown_first_and_others_on_demand(page: Page) -> None:
    assert page.plane() == "[1, 2, :, :]"  # a block of 60
    assert page.browser.run("return document.getElementById('next').disabled")
    page.browser.click("#previous")
    page.browser.wait_until("nameOf(current.plane) === '[1, 1, :, :]'")
    page.browser.click("#strip button:nth-child(2)")
    page.browser.wait_until("nameOf(current.plane) === '[0, 1, :, :]'")
    assert page.browser.run("return document.querySelector('#strip [aria-pressed=true]').dataset.number") == "1"
    listed = page.browser.run(
        "return Array.from(document.getElementById('plane').options, option => option.textContent)"
    )
    assert [re.sub(r"\s+", " ", line) for line in listed[:3]] == [
        "[1, 2, :, :] 60 failing",
        "[0, 1, :, :] 48 failing",
        "[1, 0, :, :] 2 failing",
    ]


def test_hovering_tells_coordinates_and_both_values(page: Page, striped: tuple[Array, Array]) -> None:
    actual, golden = striped
    page.show(1)
    for row, column in ((0, 0), (23, 31), (5, 8), (11, 24)):
        lines = page.hover(row, column).split("\n")
        assert lines[0] == f"[0, 1, {row}, {column}]"
        assert np.float32(lines[1].removeprefix("actual ")) == actual[0, 1, row, column]
        assert np.float32(lines[2].removeprefix("golden ")) == golden[0, 1, row, column]
        assert lines[-1].endswith(": fails" if column % 16 == 8 else "0 ULP apart: passes")
    page.show(3)
    assert page.hover(2, 3).split("\n")[1] == "actual NaN"
    assert page.hover(4, 5).split("\n")[1:] == [
        "actual -Infinity",
        f"golden {np.format_float_positional(golden[1, 0, 4, 5], 9, unique=False, fractional=False, trim='-')}",
        "NaN or Inf differ: fails",
    ]
    page.browser.point_at(5, 5)
    assert page.tooltip() == ""


def test_keys_do_what_the_mouse_does(page: Page) -> None:
    page.show(1)
    page.browser.run("document.getElementById('map').focus()")
    page.browser.press("ArrowRight")
    assert page.tooltip().startswith("[0, 1, 0, 0]")
    page.browser.press("ArrowRight", "ArrowDown", "ArrowDown")
    assert page.tooltip().startswith("[0, 1, 2, 1]")
    page.browser.press("ArrowRight", holding="Shift")
    assert page.tooltip().startswith("[0, 1, 2, 11]")
    page.browser.press("n")
    assert page.tooltip().startswith("[0, 1, 2, 24]")
    assert page.text("#status").startswith("[0, 1, 2, 24], actual 0,")
    page.browser.press("End")
    assert page.tooltip().startswith("[0, 1, 2, 31]")
    page.browser.press("PageDown")
    page.browser.wait_until("nameOf(current.plane) === '[0, 2, :, :]'")
    page.browser.press("n")
    page.browser.wait_until("nameOf(current.plane) === '[1, 0, :, :]' && cursor >= 0")
    assert page.tooltip().startswith("[1, 0, 2, 3]")


def test_the_tooltip_stays_with_its_cell(page: Page) -> None:
    page.browser.run("document.getElementById('map').focus()")
    page.browser.press("ArrowRight", "ArrowDown")
    distance = "byId('tooltip').getBoundingClientRect().top - byId('cursor').getBoundingClientRect().bottom"
    before, top = page.browser.run(f"document.body.style.paddingBottom = '5000px'; return [{distance}, scrollY]")
    page.browser.run("scrollBy(0, 50)")
    page.browser.wait_until(f"scrollY === {top} + 50 && Math.abs({distance} - {before}) < 1")
    page.browser.run("scrollTo(0, 4000)")
    page.browser.wait_until("byId('tooltip').hidden")


def test_every_control_is_reached_by_tab(page: Page) -> None:
    seen = []
    page.browser.run("document.activeElement.blur()")
    for _ in range(40):
        page.browser.press("Tab")
        seen.append(page.browser.run("return document.activeElement.id || document.activeElement.textContent"))
    assert {"previous", "plane", "find", "map", "show"} <= set(seen)


def test_the_histogram_counts_elements(page: Page, striped: tuple[Array, Array]) -> None:
    actual, _ = striped
    bars, legend = page.histogram(), page.colours()
    assert bars["0"][0] == actual.size - 48 - 60 - 2 - 1
    assert bars["1"][0] == 1
    assert bars["NaN, Inf"][0] == 2
    assert sum(count for count, _, _ in bars.values()) == actual.size
    assert all(count > 0 and width > 0 for count, width, _ in bars.values())
    widths = [width for _, width, _ in sorted(bars.values())]
    assert widths == sorted(widths)
    assert bars["0"][2] == [tuple(colour(legend, "the same value")[0].tolist())]
    assert bars["NaN, Inf"][2] == [tuple(colour(legend, "NaN or Inf")[0].tolist())]
    zeros = bars["2^29 – 2^30"]  # 0 is about 2^30 numbers away from 1
    assert zeros[0] == 48
    assert is_between(np.array(zeros[2]), colour(legend, "fails")).all()


def test_verdict_and_figures_are_those_of_the_command(page: Page) -> None:
    assert page.text("#verdict") == "FAIL"
    assert page.text("h1").endswith("golden.npy")
    assert "standard mixed, float32, shape [2, 3, 24, 32]" in page.text("#kind")
    assert "NaN in just one of the tensors: 1 of 4608 elements, none may be" in page.text("#reasons")
    figures = page.text("#figures")
    assert re.search(r"elements\s+4,608\b", figures)
    assert re.search(r"Inf mismatches\s+1\b", figures)
    assert re.search(r"rtol\s+2\^-10 = 0\.0009766", figures)
    page.browser.click("#positions p:nth-child(2) button")  # the worst is a NaN
    page.browser.wait_until("cursor >= 0")
    assert page.tooltip().startswith("[1, 0, 2, 3]\nactual NaN")


def test_light_and_dark(page: Page) -> None:
    seen = []
    for scheme in ("light", "dark"):
        page.browser.prefer(scheme)
        background = rgb(page.browser.run("return getComputedStyle(document.body).backgroundColor"))[0]
        legend = page.colours()
        assert (page.pixels()[0, 0] == colour(legend, "the same value")).all()
        assert page.histogram()["0"][2] == [tuple(colour(legend, "the same value")[0].tolist())]
        seen.append(int(background.astype(int).sum()))
    assert seen[0] > 600 > 150 > seen[1]


def test_nothing_is_fetched(page: Page) -> None:
    page.show(1)
    page.hover(3, 3)
    assert set(page.browser.requests()) <= {page.path.as_uri(), "data:,"}
    assert page.browser.run("return performance.getEntriesByType('resource').length") == 0
    assert page.browser.complaints() == []
    # Should it ever try, its own policy stops it.
    page.browser.run("const i = new Image(); i.src = 'http://poolgrad.invalid/x.png'; document.body.append(i)")
    page.browser.wait_until("document.images[0].complete")
    assert any("Content Security Policy" in text for text in page.browser.complaints())


def test_a_page_that_fetches_is_noticed(browser: Browser, tmp_path: Path) -> None:
    """That no request was noted means something."""
    (tmp_path / "other.html").write_text('<img src="http://poolgrad.invalid/seen.png">', "utf-8")
    browser.requests()
    browser.open(tmp_path / "other.html")
    browser.wait_until("document.images[0].complete")
    assert "http://poolgrad.invalid/seen.png" in browser.requests()


SPECIAL = [0.0, -0.0, 1.0, -2.5, 0.1, 3e-5, 6e-8, 65504.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_values_of_every_type_are_read_right(browser: Browser, tmp_path: Path, dtype: str) -> None:
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    if kind.kind == "i":
        ends = np.iinfo(kind)
        golden = np.array([[0, 1, -1, ends.max, ends.min, 12345]], kind)
    else:
        golden = np.array([SPECIAL]).astype(kind)
    page = report(browser, tmp_path, golden[:, ::-1], golden, "--standard", "binary")
    texts = browser.run("return Array.from({length: cells}, (_, cell) => textOf(cell))")
    for place, lines in enumerate(texts):
        assert lines[0] == f"[0, {place}]"
        for line, array in zip(lines[1:3], (golden[:, ::-1], golden), strict=True):
            word = line.split(" ")[1].replace("Infinity", "inf")
            value = kind.type(int(word) if kind.kind == "i" else float(word))
            assert np.array([value]).tobytes() == array[:, place].tobytes() or (
                math.isnan(value) and math.isnan(array[0, place])
            )
    assert page.browser.complaints() == []


def test_64_planes_of_256_by_256_stay_usable(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    golden = rng.standard_normal((64, 256, 256)).astype(np.float32)
    actual = golden * (1 + rng.choice([0, 1e-7, 1e-6], golden.shape)).astype(np.float32)
    actual[37, 128:192, ::32] = 9
    page = report(browser, tmp_path, actual, golden)
    assert page.path.stat().st_size < 32_000_000
    assert page.plane() == "[37, :, :]"
    assert len(page.browser.run("return report.shown")) == 64
    failing = is_between(page.pixels(), colour(page.colours(), "fails"))
    assert (failing == (np.abs(actual[37] - golden[37]) > 0.01)).all()
    for number in range(0, 64, 3):
        page.show(number)
        row, column = number, 255 - number
        lines = page.hover(row, column).split("\n")
        assert lines[0] == f"[{number}, {row}, {column}]"
        assert np.float32(lines[1].removeprefix("actual ")) == actual[number, row, column]
        assert np.float32(lines[2].removeprefix("golden ")) == golden[number, row, column]
    assert page.browser.run("return decoded.size") <= 8  # planes that are not looked at stay packed
    assert page.browser.complaints() == []


def test_large_planes_are_shown_by_their_worst_elements(browser: Browser, tmp_path: Path) -> None:
    golden = np.ones((2050, 3000), np.float16)
    actual = golden.copy()
    actual[1999, 2500] = 5
    page = report(browser, tmp_path, actual, golden)
    assert "A cell of the map stands for 3 × 3 elements" in page.text("#map-note")
    failing = is_between(page.pixels(), colour(page.colours(), "fails"))
    assert np.argwhere(failing).tolist() == [[1999 // 3, 2500 // 3]]
    page.browser.click("#find")
    assert page.tooltip().startswith("[1999, 2500]\nactual 5\ngolden 1\n")


def test_more_planes_than_a_page_holds(browser: Browser, tmp_path: Path) -> None:
    golden = np.ones((1500, 2, 2), np.float32)
    actual = golden.copy()
    actual[1400] = 2
    page = report(browser, tmp_path, actual, golden)
    assert "1,500 planes of 2 × 2 elements" in page.text("#map-note")
    assert "Only the worst 1,024 are on this page" in page.text("#map-note")
    assert page.plane() == "[1400, :, :]"


@pytest.mark.parametrize("shape", [(0, 3), (), (50,)])
def test_tensors_without_planes(browser: Browser, tmp_path: Path, shape: tuple[int, ...]) -> None:
    tensor = np.ones(shape, np.float32)
    page = report(browser, tmp_path, tensor, tensor, expect=0)
    assert page.text("#verdict") == "PASS"
    assert page.text("#positions") == "No element differs."
    if tensor.size:
        assert page.hover(0, 0).startswith("[0]" if shape else "[]")
    assert page.browser.complaints() == []


def test_standards_without_a_rule_for_elements_say_so(browser: Browser, tmp_path: Path) -> None:
    golden = np.ones((4, 4), np.float32)
    page = report(browser, tmp_path, golden * np.float32(1.0001), golden, "--standard", "cosine", expect=0)
    assert "cosine has no rule for single elements" in page.text("#legend")
    assert not page.hover(1, 1).endswith("passes")


def test_a_nan_that_is_forgiven_is_not_said_to_fail(browser: Browser, tmp_path: Path) -> None:
    golden = np.ones((4, 4), np.float32)
    actual = golden.copy()
    actual[1, 2] = math.nan
    third = ("--standard", "cross_check_ttk", "--third-party", str(tmp_path / "actual.npy"))
    page = report(browser, tmp_path, actual, golden, *third, expect=0)
    assert page.hover(1, 2).split("\n")[-1] == "NaN or Inf differ"


def test_names_are_text(browser: Browser, tmp_path: Path) -> None:
    directory = tmp_path / "<img src=x onerror=document.title=1>"
    directory.mkdir()
    ones = np.ones((2, 2), np.float32)
    page = report(browser, directory, ones, ones, expect=0)
    assert "<img src=x onerror=document.title=1>" in page.text("h1")
    assert browser.run("return document.images.length") == 0
    assert browser.run("return document.title").startswith("PASS: ")
