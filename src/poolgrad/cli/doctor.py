"""``poolgrad doctor``: is this installation as it should be, and if not, what to do?"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from .terminal import NO, AsJson, errors, print_json, progress, screen

NEEDED = ("numpy", "numba", "llvmlite", "ml_dtypes", "typer", "rich")
OPTIONAL = {
    "torch": "torch tensors, autograd",
    "dask": "Dask arrays",
    "zarr": "Zarr stores",
    "matplotlib": "poolgrad view",
}
FEATURES = ("f16c", "fma", "avx", "avx2", "avx512f", "neon")


class Finding(NamedTuple):
    """One thing that was looked at. ``advice`` is what to do if it is not well."""

    name: str
    found: str
    well: bool = True
    advice: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Look at versions, CPU, threads and kernel cache, and test all operators against the reference.

    The first time on a machine kernels are compiled, which takes up to a minute. The exit code is 1 if something is
    wrong; then each trouble comes with what to do.

    Example: `poolgrad doctor`
    """
    findings = list(_versions())
    complete = all(finding.well for finding in findings)
    findings.append(_product())
    if complete:
        looks = {"CPU": _processor, "threads": _threads, "kernel cache": _cache, "C++ compiler": _compiler}
        findings += [_looked(name, look) for name, look in {**looks, "self-test": _self_test}.items()]
    well = all(finding.well for finding in findings)
    if as_json:
        print_json({"well": well, "findings": [finding._asdict() for finding in findings]})
    else:
        table = Table("", "found", "")
        for finding in findings:
            mark = "[green]ok[/]" if finding.well else "[red]wrong[/]"
            table.add_row(finding.name, escape(finding.found), mark)
        screen.print(table)
        for finding in findings:
            if not finding.well:
                screen.print(f"- {finding.name}: {finding.advice}", markup=False, soft_wrap=True)
    if not well:
        raise typer.Exit(NO)


def _looked(name: str, look: Callable[[], str | Finding]) -> Finding:
    """What a look finds; packages that are there and broken can fail in any way."""
    try:
        found = look()
    except Exception as error:  # noqa: BLE001
        advice = f"run: {shlex.quote(sys.executable)} -m pip install --force-reinstall numpy numba llvmlite ml_dtypes"
        return Finding(name, f"{type(error).__name__}: {error}", False, advice)
    return found if isinstance(found, Finding) else Finding(name, found)


def _versions() -> Iterator[Finding]:
    import platform
    from importlib import metadata

    from .. import __version__

    yield Finding("poolgrad", __version__)
    yield Finding("Python", f"{platform.python_version()} ({sys.executable}), {platform.platform()}")
    # All of them, so that pip looks for versions that go together.
    advice = f"run: {shlex.quote(sys.executable)} -m pip install {' '.join(NEEDED)}"
    for name in (*NEEDED, *OPTIONAL):
        try:
            yield Finding(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            without = Finding(name, "missing", False, advice)
            yield without if name in NEEDED else Finding(name, f"not installed; only for {OPTIONAL[name]}")


def _product() -> Finding:
    from ..base.products import A2, find_product

    name = os.environ.get("POOLGRAD_PRODUCT")
    try:
        product = find_product(name or A2.name)
    except ValueError as error:
        return Finding("simulated product", f"POOLGRAD_PRODUCT={name}", False, f"POOLGRAD_PRODUCT: {error}")
    return Finding("simulated product", f"{product.name} ({'POOLGRAD_PRODUCT' if name else 'by default'})")


def _processor() -> str:
    from llvmlite import binding
    from numba.core import config

    name = config.CPU_NAME or binding.get_host_cpu_name()
    if config.CPU_NAME is None and config.CPU_FEATURES is None:
        has = [feature for feature, there in binding.get_host_cpu_features().items() if there]
    else:  # NUMBA_CPU_NAME and NUMBA_CPU_FEATURES say what kernels may use
        has = [word[1:] for word in (config.CPU_FEATURES or "").split(",") if word.startswith("+")]
    return f"{name}: {', '.join(f for f in FEATURES if f in has) or 'no vector features known'}"


def _threads() -> str:
    from ..run.threads import get_num_threads

    return f"{get_num_threads()}, of {os.cpu_count()} processors"


def _cache() -> str | Finding:
    from ..base.cache_directory import cache_directory

    path = cache_directory()
    advice = f"kernels are compiled again in every process; make {path} writable, or set POOLGRAD_CACHE_DIR"
    probe = path / f".doctor-{os.getpid()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Finding("kernel cache", f"{path}: {error.strerror}", False, advice)
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    return f"{path}: {len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB, writable"


def _compiler() -> str:
    import subprocess

    command = shlex.split(os.environ.get("CXX") or "g++")
    path = shutil.which(command[0])
    if path is None:
        return f"no {command[0]}; only needed to build C programs against poolgrad"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return (said.stdout.splitlines() or [path])[0]


def _self_test() -> str | Finding:
    """All trials; an exception in one is a failure like any other."""
    from ..selftest.trials import trials

    every, failed, began = list(trials()), [], time.monotonic()
    with progress("self-test (the first time kernels are compiled)", len(every)) as advance:
        for trial in every:
            try:
                wrong = trial.run()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the installation
                wrong = f"{type(error).__name__}: {error}"
            if wrong:
                failed.append(f"{trial.name}: {wrong}")
            advance(1)
    found = f"{len(every) - len(failed)} of {len(every)} trials agree with the reference"
    if not failed:
        return f"{found} ({time.monotonic() - began:.1f} s)"
    for line in failed[:10]:
        errors.print(line, markup=False, soft_wrap=True)
    advice = "remove the kernel cache and try again; if it stays, report it with all of this output"
    return Finding("self-test", f"{found}; {failed[0]}", False, advice)
