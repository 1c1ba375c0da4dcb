"""Compiled loops. They know numbers, addresses and steps, and nothing of the contract.

Importing this package costs nothing: Numba is loaded with the first kernel.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeVar

from .record import (
    ALONG_ROWS,
    FEW_WINDOWS,
    INTEGER_MAXIMA,
    LAYERS_OF_FEW_WINDOWS,
    PIXELS_ASK,
    PLANES_IN_LANES,
    USUAL_WINDOWS,
    WHOLE_PLANES,
)

Loaded = TypeVar("Loaded")

# Held while Numba is imported and kernels are compiled. A fork waits for it: a child that was forked in the middle
# would wait for ever for locks of a thread that it does not have.
_loading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


def _load_alone(load: Callable[[], Loaded]) -> Loaded:
    """What ``load`` returns. One thread loads at a time, and forks wait for it.

    Numba brings thousands of objects that stay; the garbage collector would look through them again and again, and once
    more at the end. It does not look at what is frozen, and what thaws is old, which it seldom looks at.
    """
    with _loading:
        collects = gc.isenabled()
        gc.disable()
        try:
            return load()
        finally:
            if collects and not gc.get_freeze_count():  # nobody else's
                gc.freeze()
                gc.unfreeze()
            if collects:
                gc.enable()


def _load_in_peace(load: Callable[[], Loaded]) -> Loaded:
    """The same, to its end. In the main thread a signal handler may raise anywhere, as Ctrl-C does, and would leave
    Numba half imported or a kernel half compiled: so another thread loads, also if nobody waits for it any more.
    Callers remember what they got, and ``load`` does too, for the next one who asks."""
    if threading.current_thread() is not threading.main_thread():
        return _load_alone(load)
    loaded: list[Loaded] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            loaded.append(_load_alone(load))
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failures.append(error)

    thread = threading.Thread(target=run, name="poolgrad loads a kernel")
    try:
        thread.start()
    except RuntimeError:  # there are no new threads at the interpreter's end
        return _load_alone(load)
    thread.join()
    if failures:
        raise failures[0]
    return loaded[0]


def kernel_address(name: str, compute: str) -> int:
    """Where the machine code of a kernel for one compute dtype is, compiled if need be.

    Kernels are Python functions of the plan's record, the addresses of inputs, output, float and integer scratch, a
    range of units, and a zero of the compute dtype. They return the place of the first bad index, or -1.
    """
    found = _ADDRESSES.get((name, compute))
    if found is None:
        found = _ADDRESSES[name, compute] = _load_in_peace(lambda: _load_kernel(name, compute))
    return found


# Where each kernel stands; only what is used is imported.
_MODULES = {
    "average_rows": "average.rows",
    "average_row_blocks": "average.row_blocks",
    "average_whole_planes": "average.whole_planes",
    "average_zeros": "average.zeros",
    "average_small_planes": "average.small_planes",
    "average_channels_last": "average.channels_last",
    "average_touching_pixels": "average.touching_pixels",
    "pool_average": "forward.averages",
    "pool_average_pixels": "forward.pixels",
    "pool_average_pixel_rows": "forward.pixel_rows",
    **dict.fromkeys(ALONG_ROWS, "forward.along_rows"),
    **dict.fromkeys(WHOLE_PLANES, "forward.whole_planes"),
    **dict.fromkeys(PLANES_IN_LANES, "forward.planes_in_lanes"),
    **dict.fromkeys(USUAL_WINDOWS, "forward.usual_windows"),
    "pool_max": "forward.maxima",
    "pool_max_values": "forward.maxima",
    **dict.fromkeys(INTEGER_MAXIMA.values(), "forward.integers"),
    **dict.fromkeys((f"{name}_pixels" for name in INTEGER_MAXIMA.values()), "forward.integer_pixels"),
    "pool_max_large_windows": "forward.large_windows",
    "pool_max_bits": "forward.mask_bits",
    "pool_max_pixels": "forward.pixels",
    "pool_max_values_pixels": "forward.pixels",
    **dict.fromkeys(PIXELS_ASK, "maximum.asking_pixels"),
    "max_single_elements": "maximum.single_elements",
    "max_touching_2": "maximum.touching",
    "max_touching_3": "maximum.touching",
    "max_touching_pairs": "maximum.touching_pairs",
    "max_touching_short_rows": "maximum.touching_short_rows",
    "scatter_mask": "maximum.mask",
    "scatter_bands": "maximum.scatter_bands",
    "scatter_layers": "maximum.scatter_layers",
    "scatter_numbers": "maximum.scatter",
    "scatter_halves": "maximum.scatter",
    "scatter_bfloats": "maximum.scatter",
    "scatter_halves_apart": "maximum.scatter",
    "scatter_bfloats_apart": "maximum.scatter",
}
# Kernels that are made for numbers, which their names tell.
_MADE = {FEW_WINDOWS: "average.few_windows", LAYERS_OF_FEW_WINDOWS: "average.layers"}
_ADDRESSES: dict[tuple[str, str], int] = {}


def module_of(name: str) -> str:
    """Where a kernel's source is."""
    return _MODULES.get(name) or next(module for prefix, module in _MADE.items() if name.startswith(prefix))


@cache
def kernel_function(name: str) -> Callable[..., int]:
    """A kernel as Numba is given it. It stands in its module under its name, or ``make_kernel`` there makes it: nobody
    uses all kinds of one, so each is made when it is asked for."""
    module = import_module(f".{module_of(name)}", __name__)
    make = getattr(module, "make_kernel", None)
    function: Callable[..., int] = make(name) if make else getattr(module, name)
    function.__name__ = function.__qualname__ = name  # kernels are kept on disk by their names
    return function


def is_loaded(name: str, compute: str) -> bool:
    return (name, compute) in _ADDRESSES


# A compiled function as Python calls it, and its address.
Compiled = tuple[Callable[..., int], int]


@cache
def load_run() -> Compiled:
    """``entry.run``, compiled if need be: every result comes from it."""
    return _load_in_peace(lambda: _load("runtime.entry", "run", 7))


@cache
def load_run_again() -> Compiled:
    """``again.run_again``, which keeps Python's lock."""
    return _load_in_peace(lambda: _load("runtime.again", "run_again", 5, nogil=False))


@cache
def load_worker() -> Compiled:
    """``team.serve``: what a worker thread runs."""
    return _load_in_peace(lambda: _load("runtime.team", "serve", 1))


@cache
def load_run_together() -> int:
    """The address of ``team.run_together``."""
    return _load_in_peace(_load_run_together)


@cache
def _load_run_together() -> int:
    from .jit.compiling import compiled_address
    from .runtime.team import TOGETHER, run_together

    return compiled_address(run_together, TOGETHER)


@cache
def _load_kernel(name: str, compute: str) -> int:
    from .jit.compiling import compiled_address
    from .runtime.runner import kernel_signature

    function = kernel_function(name)
    # How many tensors it takes its parameters tell.
    tensors = function.__code__.co_argcount - len(("records", "floats", "integers", "begin", "end", "unit"))
    # The names of kernels for integers tell their type; what they are handed for sums is nothing to them.
    told = name if name.removesuffix("_pixels") in INTEGER_MAXIMA.values() else f"{name} in {compute}"
    return compiled_address(function, kernel_signature(tensors, compute), told)


@cache
def _load(module: str, name: str, integers: int, *, nogil: bool = True) -> Compiled:
    """A function of integers that returns one."""
    from numba import types

    from .jit.compiling import compiled

    function = getattr(import_module(f".{module}", __name__), name)
    return compiled(function, types.int64(*[types.int64] * integers), nogil=nogil)
