"""An open report, and questions to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from array_files import write_array
from browser.chromium import Browser
from cli.command import poolgrad

Array = np.ndarray[Any, Any]


class Page:
    """A report in the browser."""

    def __init__(self, browser: Browser, path: Path) -> None:
        self.browser, self.path = browser, path
        browser.complaints()
        browser.requests()
        browser.open(path)
        browser.wait_until("current !== null || !cells")

    def pixels(self) -> Array:
        """The colours of the map, one per cell."""
        width, height, values = self.browser.run(
            """const map = document.getElementById("map");
            const data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
            return [map.width, map.height, Array.from(data)]"""
        )
        return np.array(values, np.uint8).reshape(height, width, 4)[..., :3]

    def colours(self) -> dict[str, Array]:
        """The legend's: of equal, passing, failing and non-finite cells; of ranges both ends."""
        found = self.browser.run(
            """return Array.from(document.querySelectorAll("#legend span"), entry =>
              [entry.textContent, getComputedStyle(entry.querySelector("i")).backgroundImage,
               getComputedStyle(entry.querySelector("i")).backgroundColor])"""
        )
        return {text: rgb(image if "rgb" in image else colour) for text, image, colour in found}

    def hover(self, row: int, column: int) -> str:
        """The tooltip over a cell."""
        left, top, width, height, columns, rows = self.browser.run(
            """const map = document.getElementById("map"), place = map.getBoundingClientRect();
            scrollBy(0, place.top + place.height * (arguments[0] + 0.5) / map.height - innerHeight / 2);
            const box = map.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height, map.width, map.height]""",
            row,
        )
        self.browser.point_at(left + (column + 0.5) * width / columns, top + (row + 0.5) * height / rows)
        return self.tooltip()

    def tooltip(self) -> str:
        text: str = self.browser.run(
            "const t = document.getElementById('tooltip'); return t.hidden ? '' : t.textContent"
        )
        return text

    def text(self, selector: str) -> str:
        found: str = self.browser.run("return document.querySelector(arguments[0]).innerText", selector)
        return found

    def plane(self) -> str:
        found: str = self.browser.run("return nameOf(current.plane)")
        return found

    def show(self, number: int) -> None:
        self.browser.run(
            """const list = document.getElementById("plane");
            list.value = String(arguments[0]); list.dispatchEvent(new Event("change"))""",
            number,
        )
        self.browser.wait_until(f"current.plane.number === {number}")

    def histogram(self) -> dict[str, tuple[int, float, list[tuple[int, ...]]]]:
        """By bucket: the number of elements, the bar's width, and its colours."""
        rows = self.browser.run(
            """return Array.from(document.querySelectorAll("#histogram tr"), row => [
              row.cells[0].textContent, row.cells[2].textContent,
              row.querySelector(".bars").getBoundingClientRect().width,
              Array.from(row.querySelectorAll(".bars i"), bar => getComputedStyle(bar).backgroundColor)])"""
        )
        return {
            name: (int(count.replace(",", "")), width, [tuple(rgb(colour)[0].tolist()) for colour in colours])
            for name, count, width, colours in rows
        }


def rgb(css: str) -> Array:
    """All colours in a value of CSS."""
    return np.array(
        [[int(part) for part in found] for found in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", css)], np.uint8
    )


def colour(legend: dict[str, Array], word: str) -> Array:
    (found,) = (ends for text, ends in legend.items() if re.match(word, text))
    return found


def is_between(pixels: Array, ends: Array) -> Array:
    """Which pixels have a colour of a range."""
    low, high = np.minimum(ends[0], ends[-1]), np.maximum(ends[0], ends[-1])
    within: Array = ((pixels >= low) & (pixels <= high)).all(axis=-1)
    return within


def report(browser: Browser, directory: Path, actual: Array, golden: Array, *options: str, expect: int = 1) -> Page:
    """Compare two arrays by the command line, and open its page."""
    for name, array in (("actual.npy", actual), ("golden.npy", golden)):
        write_array(directory / name, array)
    page = directory / "report.html"
    poolgrad("compare", directory / "actual.npy", directory / "golden.npy", "--html", page, *options, expect=expect)
    return Page(browser, page)
