"""Run the parts of the benchmark that were asked for, print what they find, and keep it as one document."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import poolgrad

from . import c_interface, growth, latency, limits, machine, processes, report
from .cases import GROUPS, Case
from .measure import caller, race
from .sides import compare, prepare

Document = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What to run, and for how long."""

    cases: list[tuple[str, Case]]
    threads: list[int]
    seconds: float
    parts: tuple[str, ...]
    quick: bool


def chosen(groups: list[str], text: str, quick: bool) -> list[tuple[str, Case]]:
    """The cases of these groups (of all, if none is named) with this text in their names."""
    return [
        (group.key, case)
        for group in GROUPS
        if not groups or group.key in groups
        for case in group.cases
        if text in case.name and (case.quick or not quick)
    ]


def run(settings: Settings, keep: Callable[[Document], None]) -> None:
    """``keep`` is given the document after each part, so that a part that fails does not take the others with it."""
    keys = {key for key, _ in settings.cases}
    document: Document = {
        "machine": machine.describe(),
        "settings": {"quick": settings.quick, "seconds": settings.seconds, "threads": settings.threads},
        "groups": [group.description for group in GROUPS if group.key in keys],
    }
    for part in settings.parts:
        start = time.perf_counter()
        document[part] = PARTS[part](settings)
        keep(document)
        say("")
        print(report.PART_TEXTS[part](document), end="\n\n", flush=True)
        say(f"{part}: {time.perf_counter() - start:.0f} s\n")


def set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    poolgrad.set_num_threads(threads)


def say(text: str) -> None:
    """Progress: on a terminal a line that changes, else a line each."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text.rstrip(), file=sys.stderr, flush=True)


def _cases(settings: Settings) -> list[dict[str, Any]]:
    print(report.CASE_HEADER)
    rows = []
    start = time.perf_counter()
    for number, (group, case) in enumerate(settings.cases):
        passed = time.perf_counter() - start
        say(f"{number + 1}/{len(settings.cases)}  {passed:.0f} s  {group}  {case.name}")
        for row in _case(group, case, settings):
            say("")
            print(report.case_line(row), flush=True)
            rows.append(row)
    print()
    return rows


def _case(group: str, case: Case, settings: Settings) -> Iterator[dict[str, Any]]:
    sides = prepare(case)
    for threads in settings.threads:
        set_threads(threads)
        compare(sides, sides.calls)
        runners = {name: caller(call) for name, call in sides.calls.items()}
        runners |= limits.contenders(case.bytes_read, case.bytes_written, threads)
        yield {
            "group": group,
            "case": case.name,
            "operator": case.operator,
            "threads": threads,
            "bytes_read": case.bytes_read,
            "bytes_written": case.bytes_written,
            **race(runners, settings.seconds),
        }


def _bandwidth(settings: Settings) -> list[dict[str, Any]]:
    say("bandwidth of copies and fills")
    return [row for threads in settings.threads for row in limits.bandwidth(threads, settings.seconds)]


def _latency(settings: Settings) -> list[dict[str, Any]]:
    rows = []
    for threads in settings.threads:
        say(f"latency on {threads} threads")
        set_threads(threads)
        rows += latency.latencies(threads, settings.seconds)
    return rows


def _processes(settings: Settings) -> dict[str, Any]:
    say("imports, first calls and peak memory in fresh processes")
    return processes.measure()


def _growth(settings: Settings) -> dict[str, Any]:
    set_threads(max(settings.threads))
    seconds = settings.seconds / 2
    return {"kernel": growth.by_kernel(seconds, say), "elements": growth.by_elements(seconds, say)}


def _capi(settings: Settings) -> dict[str, Any]:
    say("the C interface: programs, calls, and an operator call next to Python")
    return {"times": c_interface.measure(settings.seconds), "targets": c_interface.TARGETS}


PARTS = {
    "cases": _cases,
    "bandwidth": _bandwidth,
    "latency": _latency,
    "processes": _processes,
    "growth": _growth,
    "capi": _capi,
}
