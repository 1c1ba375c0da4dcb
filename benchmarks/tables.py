"""The tables of the documents, in Markdown and two languages, from the JSON alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .report import (
    BANDWIDTHS,
    C_INTERFACE,
    LATENCIES,
    OFF,
    PROCESSES,
    Document,
    Row,
    best_way,
    c_interface_lines,
    detailed_kind,
    gains,
    off_the_best,
    process_lines,
    ratio,
    share,
    slower_than_torch,
    sources,
    summary,
    sweep_summary,
    thread_counts,
    wrong_choices,
)

# Cases slower than torch that the README names; the benchmark page has them all.
MOST_NAMED = 8
# Random shapes that the benchmark page names.
MOST_SLOW = 40


@dataclass(frozen=True)
class Words:
    """What the tables say in one language."""

    title: str  # the key of a group's title
    machine: str
    quick: str
    groups: tuple[str, ...]
    thread: str
    threads: str
    verdicts: dict[str, str]
    slower: str
    none_slower: str
    more: str
    calls: tuple[str, ...]
    processes: dict[str, str]
    c_header: tuple[str, ...]
    c_interface: dict[str, str]
    ratios_plot: str
    sweep: str
    sweep_header: tuple[str, ...]
    sweep_kinds: dict[str, str]


ENGLISH = Words(
    title="title",
    machine="Measured on {cpu}, {cores} cores, L2 {l2}, L3 {l3}; torch {torch}, NumPy {numpy}, Numba {numba}; {date}.",
    quick="This was a quick run: fewer cases, and less time for each.",
    groups=("group", "cases", "mean (worst), {}", "of the limit, {}", "target", "stretch"),
    thread="1 thread",
    threads="{} threads",
    verdicts={"met": "met", "missed": "missed", "": ""},
    slower="Slower than torch: {}.",
    none_slower="None of these cases is slower than torch; some other shapes are.",
    more="and {} more",
    calls=("one call, µs", "torch", "NumPy arrays", "torch tensors", "executor, next run", "its phase two alone"),
    processes=PROCESSES,
    c_header=("the C interface", "measured", "target"),
    c_interface=C_INTERFACE,
    ratios_plot="how many times as fast as torch, by group",
    sweep="{cases} random cases of {fewest:,.0f} to {most:,.0f} elements, not chosen (seeds {seeds}), on {threads}.",
    sweep_header=("random shapes", "measurements", "mean", "worst", "slower than 0.95 × torch", "than 0.7 × torch"),
    sweep_kinds={
        "avg": "average",
        "max": "max",
        "forward": ", forward",
        "backward": ", gradient",
        "contiguous": "",
        "channels_last": ", channels last",
        "": "all",
    },
)

CHINESE = Words(
    title="chinese",
    machine="测试环境：{cpu}，{cores} 核，L2 {l2}，L3 {l3}；torch {torch}，NumPy {numpy}，Numba {numba}；{date}。",
    quick="这是一次快速测试：用例较少，每例时间较短。",
    groups=("分组", "用例数", "平均（最差），{}", "占内存极限，{}", "目标", "更高目标"),
    thread="1 线程",
    threads="{} 线程",
    verdicts={"met": "达到", "missed": "未达到", "": ""},
    slower="慢于 torch：{}。",
    none_slower="以上用例均不慢于 torch；其他一些形状则会更慢。",
    more="以及另外 {} 个",
    calls=("单次调用，µs", "torch", "NumPy 数组", "torch 张量", "可复用 executor 再次执行", "仅第二段接口"),
    processes={
        "import_poolgrad": "import 用时（NumPy 已导入）",
        "first_average_cold": "本机首次平均池化 f32 调用",
        "first_average_warm": "进程内首次平均池化 f32 调用",
        "first_max_cold": "本机首次最大池化 f32 调用",
        "first_max_warm": "进程内首次最大池化 f32 调用",
        "peak_average_extra": "张量以外的内存，平均 f32，输出 {peak_average_out} MB",
        "peak_max_extra": "张量以外的内存，最大 f16，输出 {peak_max_out} MB",
    },
    c_header=("C 接口", "实测", "目标"),
    c_interface={
        "start": "样例程序从启动到结束",
        "call": "单次调用，样例全部调用的平均",
        "simplest_call": "最简单的调用（aclrtGetDevice）",
        "objects_of_call": "为一次调用创建、之后销毁三个张量和三个数组",
        "malloc_call": "aclrtMalloc 与 aclrtFree，4 MB",
        "malloc_call_large": "同上，256 MB",
        "malloc_used": "同上，其间对全部内存调用 aclrtMemset",
        "operator_c": "两段接口与同步，k2s2，输出 64 MB，经 C 接口",
        "operator_python": "同一调用，经 Python",
        "excess": "比 Python 多用的时间",
        "operator_c_overlapping": "两段接口与同步，k3s1p1，输出 64 MB，经 C 接口",
        "operator_python_overlapping": "同一调用，经 Python",
        "excess_overlapping": "比 Python 多用的时间",
    },
    ratios_plot="各分组相对 torch 的倍数",
    sweep="{cases} 个随机用例（种子 {seeds}），每个 {fewest:,.0f} 至 {most:,.0f} 个元素，未经人为挑选；{threads}。",
    sweep_header=("随机形状", "测量数", "平均", "最差", "慢于 0.95 × torch", "慢于 0.7 × torch"),
    sweep_kinds={
        "avg": "平均",
        "max": "最大",
        "forward": "，前向",
        "backward": "，梯度",
        "contiguous": "",
        "channels_last": "，channels last",
        "": "全部",
    },
)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def speed(document: Document, words: Words) -> str:
    """The README's part: groups against their targets, one call, first calls and memory."""
    parts = [machine_line(document, words), groups_table(document, words), _slower(document, words)]
    parts.append(f"![{words.ratios_plot}](docs/bench-ratios.svg)")
    if "latency" in document:
        parts.append(calls_table(document, words))
    if "processes" in document:
        parts.append(processes_table(document, words))
    if "capi" in document:
        parts.append(c_interface_table(document, words))
    return "\n\n".join(parts)


def sweep_table(document: Document, words: Words) -> str:
    """The README's part of random shapes."""
    rows, names = document["sweep"], words.sweep_kinds

    def kind(row: Row) -> str:
        family = "avg" if "avg" in row["operator"] else "max"
        return "".join(names[key] for key in (family, row["direction"], row["layout"]))

    counts = sorted({row["threads"] for row in rows})
    threads = ", ".join(_threads(count, words) for count in counts)
    seeds = ", ".join(map(str, document["seeds"]))
    said = words.sweep.format(cases=len(rows) // len(counts), seeds=seeds, threads=threads, **document["sizes"])
    return f"{said}\n\n{_sweep_rows(document, words.sweep_header, kind, names[''])}"


def sweep_details(document: Document) -> str:
    """The benchmark page's part of random shapes: by operator, and the slowest."""
    slowest = (
        (
            row["case"],
            str(row["threads"]),
            f"{1e6 * row['torch']:.1f}",
            f"{1e6 * row['poolgrad']:.1f}",
            f"{ratio(row):.2f}",
        )
        for row in sorted(document["sweep"], key=ratio)[:MOST_SLOW]
    )
    header = ("the slowest cases", "threads", "torch µs", "ours µs", "ratio")
    kinds = _sweep_rows(document, ENGLISH.sweep_header, detailed_kind, ENGLISH.sweep_kinds[""])
    wrong = wrong_choices(document)
    right = f"{1 - len(wrong) / len(document['sweep']):.1%}"
    choices = f"The chosen way is within {OFF - 1:.0%} of the best one that is legal in {right} of the measurements."
    off = (
        (row["case"], str(row["threads"]), row["way"], best_way(row), f"{off_the_best(row):.2f}")
        for row in wrong[:MOST_SLOW]
    )
    ways = table(("wrong choices", "threads", "taken", "best", "times as long"), off)
    gained = (
        (
            line["kind"],
            line["way"],
            str(line["taken"]),
            str(line["alone"]),
            *(_times(line[k]) for k in ("gain", "most")),
        )
        for line in gains(document)
    )
    every = table(("", "way", "taken", "with no other", "gains over the best other, mean", "most"), gained)
    files = table(("file of kernels", "lines", "what it says of itself", "taken", "gain"), _source_rows(document))
    return "\n\n".join((machine_line(document, ENGLISH), kinds, table(header, slowest), choices, ways, every, files))


def _source_rows(document: Document) -> Iterator[tuple[str, ...]]:
    found, folders = sources(document), Counter[str]()
    for line in found:
        yield line["name"], str(line["lines"]), line["says"], str(line["taken"] or ""), _times(line["gain"])
        folders[line["name"].rpartition(".")[0]] += line["lines"]
    for folder, lines in folders.items():
        yield f"all of {folder or 'the others'}", str(lines), "", "", ""
    yield "all", str(folders.total()), "", "", ""


def _times(factor: float | None) -> str:
    return "" if factor is None else f"{factor:.2f}"


def _sweep_rows(document: Document, header: Iterable[str], kind: Callable[[Row], str], everything: str) -> str:
    rows = (
        (
            line["kind"] or everything,
            str(line["cases"]),
            f"{line['mean']:.2f}",
            f"{line['worst']:.2f}",
            f"{line['slower']} ({line['slower'] / line['cases']:.1%})",
            str(line["much_slower"]),
        )
        for line in sweep_summary(document["sweep"], kind)
    )
    return table(header, rows)


def details(document: Document) -> str:
    """The benchmark page's part: every case, and the machine's bandwidth."""
    parts = [machine_line(document, ENGLISH), cases_table(document["cases"])]
    if slow := slower_than_torch(document):
        parts += ["Slower than torch:", cases_table(slow)]
    if "bandwidth" in document:
        bandwidths = [
            [f"{row['bytes_written'] / 1e6:.0f} MB", str(row["threads"]), *(f"{row[key]:.0f}" for key in BANDWIDTHS)]
            for row in document["bandwidth"]
        ]
        parts.append(table(("GB/s, output of", "threads", *BANDWIDTHS.values()), bandwidths))
    return "\n\n".join(parts)


def cases_table(rows: Iterable[Row]) -> str:
    header = ("group", "case", "threads", "torch ms", "ours ms", "ratio", "of the limit")
    cells = (
        (
            row["group"],
            row["case"],
            str(row["threads"]),
            f"{1e3 * row['torch']:.4g}",
            f"{1e3 * row['poolgrad']:.4g}",
            f"{ratio(row):.2f}",
            f"{share(row):.0%}",
        )
        for row in rows
    )
    return table(header, cells)


def instructions_table(rows: Iterable[Row]) -> str:
    return table(("case", "instructions per element"), ((row["case"], f"{row['per_element']:.2f}") for row in rows))


# Workers and megabytes of a chunk that throughput is estimated for, and what is to be pooled.
WORKERS, LARGE_CHUNKS, TERABYTE_MB = (10, 100), (64, 256, 1024), 1e6


def chunks_tables(document: Document) -> str:
    """Dask against a plain loop over the same chunks, and what follows for more workers."""
    machine, cores = document["machine"], document["workers"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    header = ("chunks of", "chunks", "loop, MB/s", "Dask, MB/s", "Dask / loop", "more per chunk, ms")

    def rows(kind: str) -> Iterable[Iterable[str]]:
        for row in document[kind]:
            speeds = [row[side] for side in ("loop_mb_s", "dask_mb_s")]
            figures = (f"{speeds[0]:.0f}", f"{speeds[1]:.0f}", f"{speeds[1] / speeds[0]:.2f}")
            yield f"{row['chunk_mb']} MB", str(row["chunks"]), *figures, f"{row['overhead_ms']:.2f}"

    return "\n\n".join(
        (
            f"Measured on {machine['cpu']}, {cores} cores; {versions}; {machine['date'][:10]}.",
            f"From memory to memory, {cores} threads of one process:",
            table(header, rows("memory")),
            "The same if each result is dropped at once. The loop's lie in the cache, where each overwrites the last "
            "one; Dask's, of several tasks at once, do not fit there, and the time between two tasks shows:",
            table(header, rows("dropped")),
            f"From store to store, uncompressed and in the system's cache, {cores} workers of one thread:",
            table(header, rows("stores")),
            _estimate(document),
        )
    )


def _estimate(document: Document) -> str:
    """More workers: each as fast as here, and no more chunks than a scheduler starts."""
    largest = max(document["stores"], key=lambda row: row["chunk_mb"])
    each, seconds = largest["dask_mb_s"] / document["workers"], document["seconds_per_task"]
    rows = []
    for workers in (document["workers"], *WORKERS):
        for megabytes in LARGE_CHUNKS:
            by_workers, by_scheduler = workers * each, megabytes / seconds
            speed, who = min((by_workers, "workers"), (by_scheduler, "scheduler"))
            figures = (f"{speed / 1e3:.1f}", who, f"{TERABYTE_MB / speed:.0f} s")
            rows.append((str(workers), f"{megabytes} MB", *figures))
    told = (
        "Estimated from that, if storage and network deliver: a worker of one thread pools "
        f"{each:.0f} MB/s from store to store, and a chunk that is hardly there takes {1e3 * seconds:.1f} ms, "
        "the scheduler's and the workers' share of these cores together."
    )
    return f"{told}\n\n{table(('workers', 'chunks of', 'GB/s', 'limited by', 'a terabyte'), rows)}"


def machine_line(document: Document, words: Words) -> str:
    machine = document["machine"]
    line = words.machine.format(
        cpu=machine["cpu"],
        cores=machine["cores"],
        l2=machine["caches"].get("L2", "?"),
        l3=machine["caches"].get("L3", "?"),
        torch=machine["versions"]["torch"],
        numpy=machine["versions"]["numpy"],
        numba=machine["versions"]["numba"],
        date=machine["date"][:10],
    )
    return f"{line} {words.quick}" if document.get("settings", {}).get("quick") else line


def groups_table(document: Document, words: Words) -> str:
    counts = thread_counts(document)
    named = [_threads(count, words) for count in counts]
    group, cases, mean, limit, target, stretch = words.groups
    header = [group, cases, *(mean.format(n) for n in named), *(limit.format(n) for n in named), target, stretch]
    lines: dict[str, dict[int, Row]] = {}
    for line in summary(document):
        lines.setdefault(line["group"], {})[line["threads"]] = line
    rows = []
    for by_threads in lines.values():
        last = by_threads[counts[-1]]
        goals = (f"{last[goal]} {words.verdicts[last[f'{goal}_verdict']]}".strip() for goal in ("target", "stretch"))
        means = (f"{by_threads[n]['mean']:.1f} ({by_threads[n]['worst']:.2g})" for n in counts)
        rows.append(
            [last[words.title], str(last["cases"]), *means, *(f"{by_threads[n]['share']:.0%}" for n in counts), *goals]
        )
    return table(header, rows)


def _slower(document: Document, words: Words) -> str:
    slow = slower_than_torch(document)
    if not slow:
        return words.none_slower
    named = [f"{row['case']} ({_threads(row['threads'], words)}, {ratio(row):.2f})" for row in slow[:MOST_NAMED]]
    if len(slow) > MOST_NAMED:
        named.append(words.more.format(len(slow) - MOST_NAMED))
    return words.slower.format("; ".join(named))


def calls_table(document: Document, words: Words) -> str:
    rows = [
        [f"{row['case']}, {_threads(row['threads'], words)}", *(f"{1e6 * row[key]:.1f}" for key in LATENCIES)]
        for row in document["latency"]
    ]
    return table(words.calls, rows)


def processes_table(document: Document, words: Words) -> str:
    return table(("", ""), process_lines(document, words.processes))


def c_interface_cost(document: Document, words: Words) -> str:
    """The C interface page's part."""
    if "capi" not in document:
        return "The last benchmark left it out."
    return f"{machine_line(document, words)}\n\n{c_interface_table(document, words)}"


def c_interface_table(document: Document, words: Words) -> str:
    lines = c_interface_lines(document, words.c_interface)
    rows = ((text, value, f"{target} {words.verdicts[met]}".strip()) for text, value, target, met in lines)
    return table(words.c_header, rows)


def _threads(count: int, words: Words) -> str:
    return words.thread if count == 1 else words.threads.format(count)
