"""What the measurements say, from the JSON alone: ratios, shares of the limit, and groups against their targets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from .cases import GROUPS, Goal

Row = Mapping[str, Any]


def ratio(row: Row) -> float:
    """How many times as fast as torch."""
    return float(row["torch"] / row["poolgrad"])


def share(row: Row) -> float:
    """The part of our time that merely moving the bytes would take."""
    return float(min(row["stores"], row["streams"]) / row["poolgrad"])


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def verdict(mean: float, worst: float, goal: Goal | None) -> str:
    """Whether a group reaches a goal: "met", "missed", or "" where there is none."""
    if goal is None:
        return ""
    return "met" if mean >= goal.mean and worst >= (goal.worst or 0) else "missed"


def summary(results: Iterable[Row]) -> list[dict[str, Any]]:
    """One line per group and number of threads. Targets are about all threads, so only those lines are judged."""
    results = list(results)
    everything = max((row["threads"] for row in results), default=0)
    lines = []
    for group in GROUPS:
        for threads in sorted({row["threads"] for row in results}):
            rows = [row for row in results if row["group"] == group.key and row["threads"] == threads]
            if not rows:
                continue
            ratios = [ratio(row) for row in rows]
            mean, worst = geometric_mean(ratios), min(ratios)
            judged = threads == everything
            lines.append(
                {
                    "group": group.key,
                    "title": group.title,
                    "threads": threads,
                    "cases": len(rows),
                    "mean": mean,
                    "worst": worst,
                    "share": geometric_mean(share(row) for row in rows),
                    "target": group.target if judged else None,
                    "stretch": group.stretch if judged else None,
                    "met": verdict(mean, worst, group.target if judged else None),
                    "stretch_met": verdict(mean, worst, group.stretch if judged else None),
                }
            )
    return lines


def slower_than_torch(results: Iterable[Row]) -> list[Row]:
    return [row for row in results if ratio(row) < 1]


def goal_text(goal: Goal | None) -> str:
    if goal is None:
        return ""
    return f"{goal.mean:g}" + (f" ({goal.worst:g})" if goal.worst else "")


# ---- on the terminal -------------------------------------------------------------------------------------------------

CASE_HEADER = f"{'group':<22} {'case':<56} {'T':>2} {'torch ms':>9} {'ours ms':>9} {'ratio':>7} {'limit':>6}"


def case_line(row: Row) -> str:
    return (
        f"{row['group']:<22} {row['case']:<56} {row['threads']:>2} {1e3 * row['torch']:>9.4g} "
        f"{1e3 * row['poolgrad']:>9.4g} {ratio(row):>7.2f} {share(row):>6.0%}"
    )


def summary_text(results: Iterable[Row]) -> str:
    results = list(results)
    lines = [
        f"{'group':<38} {'T':>2} {'cases':>5} {'mean':>7} {'worst':>7} {'limit':>6}"
        f"  {'target':<10} {'':<7} {'stretch':<10}"
    ]
    for line in summary(results):
        lines.append(
            f"{line['title']:<38} {line['threads']:>2} {line['cases']:>5} {line['mean']:>7.2f} {line['worst']:>7.2f} "
            f"{line['share']:>6.0%}  {goal_text(line['target']):<10} {line['met']:<7} "
            f"{goal_text(line['stretch']):<10} {line['stretch_met']}".rstrip()
        )
    slow = slower_than_torch(results)
    lines += ["", f"slower than torch: {len(slow) or 'none'}", *(f"  {case_line(row)}" for row in slow)]
    return "\n".join(lines)
