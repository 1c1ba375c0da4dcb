"""What the measurements say, from the JSON alone: ratios, shares of the limit, groups against their targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
Document = Mapping[str, Any]


def ratio(row: Row) -> float:
    """How many times as fast as torch."""
    return float(row["torch"] / row["poolgrad"])


def share(row: Row) -> float:
    """The part of our time that merely moving the bytes would take."""
    return float(min(row["stores"], row["streams"]) / row["poolgrad"])


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def verdict(mean: float, worst: float, goal: Row | None, least_share: float = 1.0) -> str:
    """Whether a group reaches a goal: "met", "missed", or "" where there is none."""
    if not goal:
        return ""
    met = mean >= goal["mean"] and worst >= (goal["worst"] or 0) and least_share >= (goal.get("share") or 0)
    return "met" if met else "missed"


def goal_text(goal: Row | None) -> str:
    if not goal:
        return ""
    text, least = f"{goal['mean']:g}", goal.get("share")  # which goals of earlier versions lack
    text += f" ({goal['worst']:g})" if goal["worst"] else ""
    return f"{text}, {least:.0%}" if least else text


def thread_counts(document: Document) -> list[int]:
    return sorted({row["threads"] for row in document["cases"]})


def summary(document: Document) -> list[dict[str, Any]]:
    """A line per group and number of threads. Goals are about all threads, so only those lines are judged."""
    counts = thread_counts(document)
    lines = []
    for group in document["groups"]:
        for threads in counts:
            rows = [row for row in document["cases"] if (row["group"], row["threads"]) == (group["key"], threads)]
            if not rows:
                continue
            ratios = [ratio(row) for row in rows]
            mean, worst, least = geometric_mean(ratios), min(ratios), min(map(share, rows))
            target, stretch = (group[name] if threads == counts[-1] else None for name in ("target", "stretch"))
            lines.append(
                {
                    "group": group["key"],
                    "title": group["title"],
                    "chinese": group["chinese"],
                    "threads": threads,
                    "cases": len(rows),
                    "mean": mean,
                    "worst": worst,
                    "share": geometric_mean(share(row) for row in rows),
                    "target": goal_text(target),
                    "target_verdict": verdict(mean, worst, target, least),
                    "stretch": goal_text(stretch),
                    "stretch_verdict": verdict(mean, worst, stretch, least),
                }
            )
    return lines


def slower_than_torch(document: Document) -> list[Row]:
    return sorted((row for row in document["cases"] if ratio(row) < 1), key=ratio)


# ---- random shapes ---------------------------------------------------------------------------------------------------

# What counts as slower than torch is more than what two runs of one program differ by.
SLOWER, MUCH_SLOWER = 0.95, 0.7


def sweep_summary(rows: Iterable[Row], kind: Callable[[Row], str]) -> list[dict[str, Any]]:
    """A line for each kind of cases, and one for all: how many times as fast as torch, and how many are slower."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(kind(row), []).append(ratio(row))
    everything = [value for values in kinds.values() for value in values]
    return [
        {
            "kind": name,
            "cases": len(found),
            "mean": geometric_mean(found),
            "worst": min(found),
            "slower": sum(value < SLOWER for value in found),
            "much_slower": sum(value < MUCH_SLOWER for value in found),
        }
        for name, found in (*sorted(kinds.items()), ("", everything))
    ]


# A way that takes so much longer than the best one is a wrong choice.
OFF = 1.15


def off_the_best(row: Row) -> float:
    """How many times as long the chosen way takes as the best one."""
    ways = row.get("ways")  # results of earlier versions lack them
    return float(ways[row["way"]] / min(ways.values())) if ways else 1.0


def wrong_choices(document: Document) -> list[Row]:
    return sorted((row for row in document["sweep"] if off_the_best(row) > OFF), key=off_the_best, reverse=True)


def best_way(row: Row) -> str:
    return str(min(row["ways"], key=row["ways"].__getitem__))


def gains(document: Document) -> list[dict[str, Any]]:
    """Of each way: how often it was taken, and how many times as fast it was then as the best other one."""
    found: dict[tuple[str, str], list[float | None]] = {}
    for row in document["sweep"]:
        if "way" in row:
            others = _other_times(row)
            gain = min(others) / row["ways"][row["way"]] if others else None
            family = "average" if "avg" in row["operator"] else "max"
            kind = f"{family}, gradient" if row["direction"] == "backward" else f"{family}, forward"
            found.setdefault((kind, row["way"]), []).append(gain)
    lines = []
    for (kind, way), values in sorted(found.items()):
        known = [gain for gain in values if gain is not None]
        figures = {"gain": geometric_mean(known), "most": max(known)} if known else {"gain": None, "most": None}
        lines.append({"kind": kind, "way": way, "taken": len(values), "alone": len(values) - len(known), **figures})
    return lines


def sources(document: Document) -> list[dict[str, Any]]:
    """The files of kernels, how often a kernel of each was taken, and what was gained over the best other way then."""
    found: dict[str, list[Row]] = {}
    for row in document["sweep"]:
        found.setdefault(row.get("module", ""), []).append(row)
    lines = []
    for file in document.get("sources", ()):  # which files of earlier versions lack
        rows = found.get(file["name"], [])
        known = [min(others) / row["ways"][row["way"]] for row in rows if (others := _other_times(row))]
        lines.append(file | {"taken": len(rows), "gain": geometric_mean(known) if known else None})
    return lines


def _other_times(row: Row) -> list[float]:
    """Of all ways but the one that was taken."""
    return [seconds for way, seconds in row["ways"].items() if way != row["way"]]


def detailed_kind(row: Row) -> str:
    layout = ", channels last" if row["layout"] == "channels_last" else ""
    return f"{row['operator']} {row['direction']}{layout}, {'f32' if row['dtype'] == 'float32' else 'halves'}"


def sweep_text(document: Document) -> str:
    lines = [
        f"seeds {', '.join(map(str, document['seeds']))}",
        f"{'kind':<42} {'cases':>5} {'mean':>7} {'worst':>7} {'<0.95':>6} {'<0.7':>6}",
    ]
    for line in sweep_summary(document["sweep"], detailed_kind):
        figures = f"{line['cases']:>5} {line['mean']:>7.2f} {line['worst']:>7.2f}"
        lines.append(f"{line['kind'] or 'all':<42} {figures} {line['slower']:>6} {line['much_slower']:>6}")
    lines += ["", f"{'slowest':<70} {'T':>2} {'torch µs':>9} {'ours µs':>9} {'ratio':>6}"]
    for row in sorted(document["sweep"], key=ratio)[:25]:
        times = f"{1e6 * row['torch']:>9.1f} {1e6 * row['poolgrad']:>9.1f}"
        lines.append(f"{row['case']:<70} {row['threads']:>2} {times} {ratio(row):>6.2f}")
    wrong = wrong_choices(document)
    right = 1 - len(wrong) / len(document["sweep"])
    lines += ["", f"choice within {OFF - 1:.0%} of the best way in {right:.1%} of the measurements; the others:"]
    for row in wrong[:25]:
        choice = f"{row['way']} instead of {best_way(row)}"
        lines.append(f"{row['case']:<70} {row['threads']:>2} {choice:<40} {off_the_best(row):>6.2f}")
    return "\n".join(lines)


# ---- as text ---------------------------------------------------------------------------------------------------------

CASE_HEADER = f"{'group':<20} {'case':<56} {'T':>2} {'torch ms':>9} {'ours ms':>9} {'ratio':>7} {'limit':>6}"


def case_line(row: Row) -> str:
    return (
        f"{row['group']:<20} {row['case']:<56} {row['threads']:>2} {1e3 * row['torch']:>9.4g} "
        f"{1e3 * row['poolgrad']:>9.4g} {ratio(row):>7.2f} {share(row):>6.0%}"
    )


def _cases_text(document: Document) -> str:
    lines = [f"{'group':<38} {'T':>2} {'cases':>5} {'mean':>7} {'worst':>7} {'limit':>6}  {'target':<18} stretch"]
    for line in summary(document):
        goals = f"{line['target']:<10} {line['target_verdict']:<7} {line['stretch']:<10} {line['stretch_verdict']}"
        lines.append(
            f"{line['title']:<38} {line['threads']:>2} {line['cases']:>5} {line['mean']:>7.2f} {line['worst']:>7.2f} "
            f"{line['share']:>6.0%}  {goals}".rstrip()
        )
    slow = slower_than_torch(document)
    lines += ["", f"slower than torch: {len(slow) or 'none'}", *map(case_line, slow)]
    return "\n".join(lines)


BANDWIDTHS = {"copy": "copy", "copy_past_caches": "NT copy", "fill": "fill", "fill_past_caches": "NT fill"}


def _bandwidth_text(document: Document) -> str:
    rows = ((f"{row['bytes_written'] / 1e6:.0f} MB", row) for row in document["bandwidth"])
    return _columns_text("GB/s, written ", rows, BANDWIDTHS, lambda value: f"{value:>9.1f}")


LATENCIES = {
    "torch": "torch",
    "numpy": "NumPy",
    "tensors": "tensors",
    "executor": "executor",
    "launch": "its launch",
}


def _latency_text(document: Document) -> str:
    rows = ((row["case"], row) for row in document["latency"])
    return _columns_text(f"{'one call, µs':<28}", rows, LATENCIES, lambda seconds: f"{1e6 * seconds:>11.2f}")


def _columns_text(
    header: str, rows: Iterable[tuple[str, Row]], columns: Mapping[str, str], shown: Callable[[float], str]
) -> str:
    """Rows of one figure per column, as wide as the header and the figures are; with the number of threads."""
    first, other = len(header), len(shown(0))
    lines = [f"{header} {'T':>2}" + "".join(f"{title:>{other}}" for title in columns.values())]
    for name, row in rows:
        lines.append(f"{name:<{first}} {row['threads']:>2}" + "".join(shown(row[key]) for key in columns))
    return "\n".join(lines)


PROCESSES = {
    "import_poolgrad": "import, after NumPy",
    "first_average_cold": "first average f32 ever on a machine",
    "first_average_warm": "first average f32 of a process",
    "first_max_cold": "first max f32 ever on a machine",
    "first_max_warm": "first max f32 of a process",
    "peak_average_extra": "memory besides the tensors, average f32, output of {peak_average_out} MB",
    "peak_max_extra": "memory besides the tensors, max f16, output of {peak_max_out} MB",
}


def process_lines(document: Document, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """What was measured in fresh processes, in words of some language, and its value."""
    found = document["processes"]
    sizes = {name: f"{value / 1e6:.0f}" for name, value in found.items() if name.endswith("_out")}
    return [
        (text.format(**sizes), f"{found[key] / 1e6:.1f} MB" if key.startswith("peak") else f"{found[key]:.2f} s")
        for key, text in texts.items()
    ]


def _processes_text(document: Document) -> str:
    return "\n".join(f"{text:<72} {value}" for text, value in process_lines(document, PROCESSES))


C_INTERFACE = {
    "start": "start-up of a sample program, from its start to its end",
    "call": "one call, on average over a sample's calls",
    "simplest_call": "the simplest call (aclrtGetDevice)",
    "objects_of_call": "three tensors and three arrays, made for a call and destroyed after it",
    "malloc_call": "aclrtMalloc and aclrtFree of 4 MB",
    "malloc_call_large": "the same with 256 MB",
    "malloc_used": "the same with an aclrtMemset of all of it in between",
    "operator_c": "both phases and the wait, k2s2, output of 64 MB, through C",
    "operator_python": "the same in Python",
    "excess": "more than in Python",
    "operator_c_overlapping": "both phases and the wait, k3s1p1, output of 64 MB, through C",
    "operator_python_overlapping": "the same in Python",
    "excess_overlapping": "more than in Python",
}


def c_interface_lines(document: Document, texts: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """What the C interface costs, in words of some language: figure, target, and whether it is met."""
    found = {**document["capi"]["times"]}
    for name in ("", "_overlapping"):
        found[f"excess{name}"] = found[f"operator_c{name}"] / found[f"operator_python{name}"] - 1
    targets = document["capi"]["targets"]
    lines = []
    for key, text in texts.items():
        if key not in found:  # it was not measured then
            continue
        target = targets.get(key)
        met = "" if target is None else "met" if found[key] <= target else "missed"
        lines.append((text, _amount(key, found[key]), "" if target is None else _amount(key, target), met))
    return lines


def _amount(key: str, value: float) -> str:
    if "excess" in key:
        return f"{value:.1%}"
    if "call" in key:
        return f"{1e6 * value:.1f} µs"
    return f"{1e3 * value:.2f} ms" if "operator" in key or "used" in key else f"{value:.2f} s"


def _c_interface_text(document: Document) -> str:
    lines = c_interface_lines(document, C_INTERFACE)
    return "\n".join(f"{text:<64} {value:>10}  {target:>8} {met}".rstrip() for text, value, target, met in lines)


def _growth_text(document: Document) -> str:
    def per_element(seconds: float | None, elements: int) -> str:
        return f"{1e9 * seconds / elements:>10.3f}" if seconds else f"{'-':>10}"

    lines = [f"{'ns per element of the output':<44} {'torch':>10} {'ours':>10}"]
    for row in (*document["growth"]["kernel"], *document["growth"]["elements"]):
        times = (per_element(row[side], row["count"]) for side in ("torch", "poolgrad"))
        lines.append(f"{row['case']:<44} " + " ".join(times))
    return "\n".join(lines)


PART_TEXTS: dict[str, Callable[[Document], str]] = {
    "cases": _cases_text,
    "bandwidth": _bandwidth_text,
    "latency": _latency_text,
    "processes": _processes_text,
    "growth": _growth_text,
    "capi": _c_interface_text,
}


def whole_text(document: Document) -> str:
    """Everything that a document holds."""
    parts = [CASE_HEADER, *map(case_line, document["cases"]), ""] if "cases" in document else []
    return "\n".join(parts + [text(document) + "\n" for name, text in PART_TEXTS.items() if name in document])


# ---- two runs --------------------------------------------------------------------------------------------------------


def comparison_text(old: Document, new: Document) -> str:
    """How the times of the cases in both documents changed; torch's change shows how alike the two machines were."""
    before = {(row["group"], row["case"], row["threads"]): row for row in old["cases"]}
    both = [
        (before[key], row) for row in new["cases"] if (key := (row["group"], row["case"], row["threads"])) in before
    ]
    if not both:
        return "no case is in both files"
    lines = [f"{'group':<20} {'case':<56} {'T':>2} {'old ms':>9} {'new ms':>9} {'ours':>7} {'torch':>7}"]
    for one, other in sorted(both, key=lambda pair: pair[1]["poolgrad"] / pair[0]["poolgrad"]):
        lines.append(
            f"{other['group']:<20} {other['case']:<56} {other['threads']:>2} {1e3 * one['poolgrad']:>9.4g} "
            f"{1e3 * other['poolgrad']:>9.4g} {_change(one, other, 'poolgrad')} {_change(one, other, 'torch')}"
        )
    lines.append("")
    for group in new["groups"]:
        pairs = [(one, other) for one, other in both if other["group"] == group["key"]]
        if pairs:
            ours, torch = (
                geometric_mean(other[side] / one[side] for one, other in pairs) for side in ("poolgrad", "torch")
            )
            lines.append(f"{group['title']:<97}    {ours - 1:>+7.0%} {torch - 1:>+7.0%}")
    return "\n".join(lines)


def _change(one: Row, other: Row, side: str) -> str:
    return f"{other[side] / one[side] - 1:>+7.0%}"
