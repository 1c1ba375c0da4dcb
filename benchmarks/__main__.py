"""poolgrad against torch 2.13.0, and against what memory allows."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

from . import report
from .cases import GROUPS

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("cases", "bandwidth", "latency", "processes", "growth", "capi")
QUICK_PARTS = ("cases", "bandwidth", "latency")

EXAMPLES = """examples:
  python -m benchmarks --quick                               a few cases of each group, in two minutes
  python -m benchmarks --group avg-strided --threads 1       one group on one thread
  python -m benchmarks --case k3s2p1 --seconds 0.5           all cases with this text in their names, briefly
  python -m benchmarks --part latency --part bandwidth       no cases at all
  python -m benchmarks --json mine.json                      everything, kept in a file

  python -m benchmarks show mine.json                        print a kept file again
  python -m benchmarks compare old.json new.json             how times changed between two files
  python -m benchmarks plot mine.json                        draw its plots into docs/
  python -m benchmarks sweep --seed 7 --cases 200            random shapes against torch
  python -m benchmarks dask mine.json                        Dask against a plain loop over chunks
  python -m benchmarks instructions mine.json                count instructions per element (needs valgrind)
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--quick", action="store_true", help="fewer cases and parts, and less time for each")
    made.add_argument(
        "--group",
        action="append",
        default=[],
        choices=[group.key for group in GROUPS],
        help="only cases of this group, and no other part; may be repeated",
    )
    made.add_argument("--case", default="", metavar="TEXT", help="only cases with this text, and no other part")
    made.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    made.add_argument("--threads", type=_numbers, metavar="N,N", help="numbers of threads (default: 1 and all cores)")
    made.add_argument("--seconds", type=float, help="time for a case on a number of threads (default: 2, quick 0.5)")
    made.add_argument("--json", type=Path, metavar="FILE", help="keep the results in this file")
    return made


def _numbers(text: str) -> list[int]:
    return sorted({int(number) for number in text.split(",")})


def _read(name: str) -> Any:
    return json.loads(Path(name).read_text("utf-8"))


def main(arguments: list[str]) -> int:
    match arguments:
        case ["show", name]:
            print(report.whole_text(_read(name)))
        case ["compare", old, new]:
            print(report.comparison_text(_read(old), _read(new)))
        case ["plot", name]:
            from .plots import draw

            for path in draw(_read(name), ROOT / "docs"):
                print(f"wrote {path.relative_to(ROOT)}")
        case ["instructions", name]:
            from .instructions import count

            Path(name).write_text(json.dumps(count(), indent=1) + "\n", "utf-8")
            print(f"wrote {name}")
        case ["dask", name]:
            from .dask_chunks import measure

            Path(name).write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")
            print(f"wrote {name}")
        case ["sweep", *rest]:
            _sweep(rest)
        case _:
            return _run(parser().parse_args(arguments))
    return 0


def _sweep(arguments: list[str]) -> None:
    made = argparse.ArgumentParser(prog="python -m benchmarks sweep", description="Random shapes against torch.")
    made.add_argument("--seed", type=_numbers, metavar="N,N", help="draw the cases of these again")
    made.add_argument("--seeds", type=int, default=1, metavar="N", help="how many new ones (default: 1)")
    made.add_argument("--cases", type=int, default=1000, metavar="N", help="how many of each seed (default: 1000)")
    made.add_argument("--threads", type=_numbers, metavar="N,N", help="numbers of threads (default: 1 and all cores)")
    made.add_argument("--json", type=Path, metavar="FILE", help="keep the results in this file")
    options = made.parse_args(arguments)
    from .sweep import sweep  # with torch, which nothing above needs

    seeds = options.seed or [secrets.randbelow(2**32) for _ in range(options.seeds)]
    print(report.sweep_text(sweep(seeds, options.cases, options.threads or _all_threads(), options.json)))


def _all_threads() -> list[int]:
    return sorted({1, len(os.sched_getaffinity(0))})


def _run(options: argparse.Namespace) -> int:
    from .run import Settings, chosen, run  # with torch, which nothing above needs

    cases = chosen(options.group, options.case, options.quick)
    if not cases:
        print("no case has this in its name: python -m benchmarks --help", file=sys.stderr)
        return 2
    parts = options.part or (QUICK_PARTS if options.quick else PARTS)
    if options.group or options.case:
        parts = ("cases",)

    def keep(document: Any) -> None:
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")

    run(
        Settings(
            cases=cases,
            threads=options.threads or _all_threads(),
            seconds=options.seconds or (0.5 if options.quick else 2.0),
            parts=tuple(parts),
            quick=options.quick,
        ),
        keep,
    )
    if options.json:
        print(f"wrote {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
