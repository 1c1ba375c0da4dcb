"""Measure the chosen cases, one row per case and number of threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch

import poolgrad

from . import limits, report
from .cases import GROUPS, Case
from .measure import caller, race
from .sides import compare, prepare


def chosen(groups: list[str], text: str, quick: bool) -> list[tuple[str, Case]]:
    """The cases that the arguments ask for."""
    return [
        (group.key, case)
        for group in GROUPS
        if not groups or group.key in groups
        for case in group.cases
        if text in case.name and (case.quick or not quick)
    ]


def set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    poolgrad.set_num_threads(threads)


def measure(cases: Iterable[tuple[str, Case]], thread_counts: list[int], seconds: float) -> Iterator[dict[str, Any]]:
    cases = list(cases)
    start = time.perf_counter()
    for number, (group, case) in enumerate(cases):
        progress(f"{number + 1}/{len(cases)}  {time.perf_counter() - start:.0f} s  {group}  {case.name}")
        sides = prepare(case)
        for threads in thread_counts:
            set_threads(threads)
            compare(sides)
            runners = {"torch": caller(sides.torch), "poolgrad": caller(sides.poolgrad)}
            runners |= limits.contenders(case.bytes_read, case.bytes_written, threads)
            times = race(runners, seconds)
            yield {
                "group": group,
                "case": case.name,
                "threads": threads,
                "bytes_read": case.bytes_read,
                "bytes_written": case.bytes_written,
                **times,
            }
        del sides


def progress(text: str) -> None:
    """On a terminal one line that changes, else a line each."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def cases_table(cases: list[tuple[str, Case]], thread_counts: list[int], seconds: float) -> list[dict[str, Any]]:
    """Measure and print as results come."""
    print(report.CASE_HEADER)
    results = []
    for row in measure(cases, thread_counts, seconds):
        results.append(row)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        print(report.case_line(row), flush=True)
    print("\n" + report.summary_text(results))
    return results
