"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import os
import sys

from .cases import GROUPS

EXAMPLES = """examples:
  python -m benchmarks --quick                              a few cases of each group
  python -m benchmarks --group avg-strided --threads 1      one group on one thread
  python -m benchmarks --case k3s2p1 --seconds 0.5          all cases with this in their name, briefly
  python -m benchmarks --json benchmarks/results/mine.json  everything, kept
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--quick", action="store_true", help="fewer cases, and less time for each")
    made.add_argument(
        "--group", action="append", default=[], choices=[g.key for g in GROUPS], help="only this group; may be repeated"
    )
    made.add_argument("--case", default="", metavar="TEXT", help="only cases with this text in their name")
    made.add_argument("--threads", metavar="N,N", help="numbers of threads; default: 1 and all cores")
    made.add_argument("--seconds", type=float, help="time per case and number of threads (default 2, quick 0.5)")
    return made


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    from .run import cases_table, chosen  # with torch, which --help does not need

    cores = len(os.sched_getaffinity(0))
    threads = [int(n) for n in options.threads.split(",")] if options.threads else sorted({1, cores})
    seconds = options.seconds or (0.5 if options.quick else 2.0)
    cases_table(chosen(options.group, options.case, options.quick), threads, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
