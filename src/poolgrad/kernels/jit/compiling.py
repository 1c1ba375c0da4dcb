"""How Numba is asked to compile kernels and their pieces: by a short way, and into a cache, as long as it lets us.

Both (whole_kernels.py, cache.py) are made of private parts of Numba, which change. Without the first its stock compiler
makes kernels of the same bits in 1.4 to 3 times the time; without the second every process compiles its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import njit, types
from numba.core import config
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError

from ...base.cache_directory import cache_directory, can_be_written

if not all(word.startswith(("+", "-")) for word in (config.CPU_FEATURES or "").split(",") if word):
    _expected = "features with + or - in front and commas between, such as +avx2,-avx512f"  # LLVM would end the process
    raise ValueError(f"NUMBA_CPU_FEATURES: expected {_expected}; got {config.CPU_FEATURES!r}.")

# Dividing by zero is not an exception here: the check would keep loops from being vectorised. Nothing is allocated, so
# there are no references to count.
_OPTIONS = {"error_model": "numpy", "_nrt": False}


@cache
def short_way() -> Any:
    """The module that knows it, or None if this Numba does not have the parts, or if POOLGRAD_STOCK_COMPILER is set.

    It is asked when the first piece is compiled, since trying it out takes a moment.
    """
    if os.environ.get("POOLGRAD_STOCK_COMPILER"):
        return None
    try:
        from . import whole_kernels

        whole_kernels.try_out(**_OPTIONS)
    except Exception:  # noqa: BLE001 - names, parameters and promises of private parts change in any way
        return None
    return whole_kernels


def _kernel_compiler(*parts: Any) -> Any:
    way = short_way()
    return way.KernelCompiler(*parts) if way else Compiler(*parts)


def _piece_compiler(*parts: Any) -> Any:
    way = short_way()
    return way.PieceCompiler(*parts) if way else Compiler(*parts)


def kernel_to_compile(function: Any, **options: bool) -> Any:
    """What ``numba.njit`` makes of a function that is called from outside: it ends as machine code."""
    with compiling():
        return njit(function, pipeline_class=_kernel_compiler, **_OPTIONS, **options)


def piece_to_compile(function: Any, *, forceinline: bool, **options: bool) -> Any:
    """Of one that kernels are made of.

    Numba compiles it anew for every constant that it is called with, also for a variable that only begins as one. That
    is of use where it is inlined (a scatter's loop takes a sixth longer without), and else a fifth of a first call.
    """
    with compiling():
        dispatcher = njit(function, pipeline_class=_piece_compiler, forceinline=forceinline, **_OPTIONS, **options)
    template = getattr(dispatcher, "get_call_template", None)
    if template and not forceinline:
        dispatcher.get_call_template = lambda args, kws: template(tuple(map(types.unliteral, args)), kws)
    return dispatcher


@contextmanager
def compiling() -> Iterator[None]:
    """People set NUMBA_DISABLE_JIT to step through functions of their own, and NUMBA_CACHE_LOCATOR_CLASSES to say where
    these are kept. Python can't run kernels, and their place is known: while these are compiled, and what they need of
    Numba's, neither holds."""
    overruled = {"DISABLE_JIT": 0, "CACHE_LOCATOR_CLASSES": ""}
    wishes = {name: getattr(config, name) for name in overruled if hasattr(config, name)}
    for name in wishes:
        setattr(config, name, overruled[name])
    try:
        yield
    finally:
        for name, wish in wishes.items():
            setattr(config, name, wish)


_told = False


def tell(what: str, unkept: str = "") -> None:
    """Say what is being compiled, and why it is not kept. Of what is no kernel, and takes a moment, only if nothing was
    told before."""
    global _told
    if what or not _told:
        _told = True
        where = cache_directory()
        if not unkept and not can_be_written(where):
            unkept = f"{where} can't be written"
        kept = f"{unkept}, so it is not kept" if unkept else f"it is kept in {where}"
        what = f"the kernel {what}" if what else "what calls kernels"
        print(f"poolgrad: compiling {what} for this CPU, some seconds; {kept}", file=sys.stderr, flush=True)


# Machine code lives as long as its dispatcher, and addresses of it are handed out.
_COMPILED: list[Any] = []


def compiled(function: Callable[..., Any], signature: Any, *, nogil: bool = True) -> tuple[Callable[..., Any], int]:
    """``function`` compiled for one signature, from the cache or made now: to call from Python, and its address.

    What Python gets is Numba's own wrapper of the machine code. The dispatcher would look for the signature that fits,
    which takes longer than a small kernel.
    """
    result = _compile(function, signature, "", nogil=nogil)
    return result.entry_point, _address(result)


def compiled_address(function: Callable[..., Any], signature: Any, what: str = "") -> int:
    """The same, for compiled code only; ``what`` is the name of a kernel, to tell people of."""
    return _address(_compile(function, signature, what, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def _address(result: Any) -> int:
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    return address


def _compile(function: Callable[..., Any], signature: Any, what: str, **options: bool) -> Any:
    dispatcher = kernel_to_compile(function, **options)
    with compiling():
        try:
            from .cache import KernelCache

            dispatcher._cache = KernelCache(function, signature, what)
            dispatcher.compile(signature)
        except NumbaError:  # of the kernel itself
            raise
        except Exception as error:  # noqa: BLE001
            tell(what, f"this version of Numba has no place for it ({type(error).__name__}: {error})")
            dispatcher = kernel_to_compile(function, **options)
            dispatcher.compile(signature)
    dispatcher.disable_compile()
    _COMPILED.append(dispatcher)
    return dispatcher.overloads[signature.args]
