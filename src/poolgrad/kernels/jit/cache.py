"""Compiling kernels once per machine: an on-disk cache that notices every change that matters.

Numba's own cache looks at the file of the function alone; a kernel here is made of functions from several files,
so the stamp is a digest of all of them. What can't be read is compiled again, what can't be written is skipped.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.registry import cpu_target

from ...base import windows
from ...base.cache_directory import cache_directory, can_be_written
from .compiling import KernelCompiler, compiling, to_compile

_told = False


@cache
def source_stamp() -> str:
    """A digest of everything that is compiled into kernels."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parents[1].rglob("*.py")), Path(windows.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Locator(_CacheLocator):
    def get_cache_path(self) -> str:
        return str(cache_directory() / f"kernels-{source_stamp()}")

    def get_source_stamp(self) -> str:
        return source_stamp()

    def get_disambiguator(self) -> str:
        return "0"

    @classmethod
    def from_function(cls, py_func: object, py_file: str) -> _Locator:
        return cls()


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (the name and type are Numba's)


class KernelCache(FunctionCache):
    """One kernel for one signature, one version of Numba and one CPU, in files of its own.

    Numba keeps all kinds of a function under one index, and two processes that add to it at once may leave one's code
    under the other's name. An index of another version it throws away.
    """

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any], signature: Any, what: str) -> None:
        super().__init__(function)
        self._what = what
        kind = repr((str(signature), numba.__version__, cpu_target.target_context.codegen().magic_tuple()))
        base = f"{self._impl.filename_base}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}"
        self._cache_file = IndexDataCacheFile(self._cache_path, base, source_stamp())

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """What else a kernel depends on. Numba would add a digest of what it closes over, which no two processes share;
        the stamp knows all sources."""
        return sig, codegen.magic_tuple()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(signature, target_context)
            if found is not None and found.signature.args != signature.args:
                raise ValueError("the code of another signature")
        except Exception:  # noqa: BLE001 - damaged or foreign files must never stop a call
            found = None
            with contextlib.suppress(OSError):  # an index that can't be read can't be added to
                os.remove(self._cache_file._index_path)
        if found is None:
            _tell(self._what)
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # a full or read-only disk: this process still has its kernel
            super().save_overload(signature, data)


def _tell(what: str) -> None:
    """Of what is no kernel, and takes a moment, only if nothing was told before."""
    global _told
    if what or not _told:
        _told = True
        where = cache_directory()
        kept = f"it is kept in {where}" if can_be_written(where) else f"{where} can't be written, so it is not kept"
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
    dispatcher = to_compile(function, KernelCompiler, **options)
    with compiling():
        dispatcher._cache = KernelCache(function, signature, what)
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    _COMPILED.append(dispatcher)
    return dispatcher.overloads[signature.args]
