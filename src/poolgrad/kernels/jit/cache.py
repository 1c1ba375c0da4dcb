"""Compiling kernels once per machine: an on-disk cache that notices every change that matters.

Numba's own cache looks at the file of the function alone; a kernel here is made of functions from several files,
so the stamp is a digest of all of them. What can't be read is compiled again, what can't be written is skipped. This is
made of private parts of Numba; where they have changed, compiling.py does without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.registry import cpu_target

from ...base import windows
from ...base.cache_directory import cache_directory
from .compiling import tell

# What people ask of Numba's code in general (NUMBA_OPT and others): slow code must not come back when nobody asks.
_WISHES = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "ENABLE_PROFILING")


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
    """One kernel for one signature, one version of Numba, one CPU and one set of wishes, in files of its own.

    Numba keeps all kinds of a function under one index, and two processes that add to it at once may leave one's code
    under the other's name. An index of another version it throws away.
    """

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any], signature: Any, what: str) -> None:
        super().__init__(function)
        self._what = what
        wishes = [str(getattr(config, name, None)) for name in _WISHES]
        kind = repr((str(signature), numba.__version__, cpu_target.target_context.codegen().magic_tuple(), wishes))
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
            tell(self._what)
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # a full or read-only disk: this process still has its kernel
            super().save_overload(signature, data)
