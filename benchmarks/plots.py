"""The plots of the documents, drawn from the JSON alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from .report import Document, geometric_mean, ratio, share, thread_counts

# The same numbers give the same file.
mpl.rcParams["svg.hashsalt"] = "poolgrad"
mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False
OURS, TORCH, GOAL = "#1f6feb", "#8c8c8c", "#d1242f"
OPERATORS = {
    "avg": "#1f6feb",
    "avg3": "#54aeff",
    "aavg": "#2da44e",
    "aavg2": "#8250df",
    "max": "#d1242f",
    "amax": "#bf8700",
    "max3": "#bf3989",
    "amax3": "#57606a",
}


def draw(document: Document, directory: Path) -> list[Path]:
    """Every plot that the document has numbers for; returns the files."""
    written = []
    for name, (part, plot) in PLOTS.items():
        if part in document:
            path = directory / name
            plot(document).savefig(path, metadata={"Date": None}, bbox_inches="tight")
            written.append(path)
    return written


def _ratios(document: Document) -> Figure:
    """Each case a dot, each group a line; the target is a mark on it."""
    threads = thread_counts(document)[-1]
    groups = list(reversed(document["groups"]))
    figure = Figure(figsize=(8, 0.32 * len(groups) + 1))
    axes = figure.subplots()
    for height, group in enumerate(groups):
        rows = [row for row in document["cases"] if (row["group"], row["threads"]) == (group["key"], threads)]
        ratios = [ratio(row) for row in rows]
        axes.plot(ratios, [height] * len(ratios), "o", color=OURS, alpha=0.45, markersize=5, markeredgewidth=0)
        axes.plot(geometric_mean(ratios), height, "|", color=OURS, markersize=14, markeredgewidth=3)
        if group["target"]:
            axes.plot(group["target"]["mean"], height, "|", color=GOAL, markersize=14, markeredgewidth=1.5)
    axes.axvline(1, color=TORCH, linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(groups)), [group["title"] for group in groups])
    axes.set_xlabel(f"times as fast as torch, {threads} threads: cases (dots), geometric mean (bar), target (red)")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(axis="x", alpha=0.3)
    return figure


def _limit(document: Document) -> Figure:
    """The share of the memory limit against the bytes that a case moves."""
    counts = thread_counts(document)
    figure = Figure(figsize=(4.5 * len(counts), 4))
    for axes, threads in zip(figure.subplots(1, len(counts), sharey=True, squeeze=False)[0], counts, strict=True):
        for operator, color in OPERATORS.items():
            rows = [row for row in document["cases"] if (row["operator"], row["threads"]) == (operator, threads)]
            sizes = [(row["bytes_read"] + row["bytes_written"]) / 1e6 for row in rows]
            axes.plot(sizes, [100 * share(row) for row in rows], "o", color=color, alpha=0.6, label=operator)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"MB read and written, {threads} thread{'s' if threads > 1 else ''}")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("% of the memory limit")
    figure.axes[0].legend(frameon=False)
    return figure


def _growth(document: Document) -> Figure:
    """Time of one output element: against the kernel's size, and against the number of elements."""
    figure = Figure(figsize=(9, 4))
    labels = {"kernel": "kernel size, stride 1, 4 planes of 256×256", "elements": "elements of the output, k2s2"}
    places: dict[str, Callable[[Any], Any]] = {
        "kernel": lambda row: row["kernel"],
        "elements": lambda row: row["count"],
    }
    for axes, (name, label) in zip(figure.subplots(1, 2), labels.items(), strict=True):
        for side, color in (("torch", TORCH), ("poolgrad", OURS)):
            rows = [row for row in document["growth"][name] if row[side]]
            times = [1e9 * row[side] / row["count"] for row in rows]
            axes.plot([places[name](row) for row in rows], times, "o-", color=color, label=side, markersize=4)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    kernels = [row["kernel"] for row in document["growth"]["kernel"]][::2]
    figure.axes[0].set_xticks(kernels, [str(kernel) for kernel in kernels])
    figure.axes[0].minorticks_off()
    figure.axes[0].set_ylabel("ns per element of the output")
    figure.axes[0].legend(frameon=False)
    return figure


PLOTS: dict[str, tuple[str, Callable[[Document], Figure]]] = {
    "bench-ratios.svg": ("cases", _ratios),
    "bench-limit.svg": ("cases", _limit),
    "bench-growth.svg": ("growth", _growth),
}
