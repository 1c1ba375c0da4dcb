"""How Numba compiles kernels here: piece by piece into LLVM's language, and a whole kernel at once into machine code.

By itself Numba optimises every piece, makes machine code of it that nobody would run, and optimises it again with each
piece above it. It also looks for much that no piece has: closures, loops to lift out or to run in parallel, expressions
of arrays. Without all this a first call takes little more than half the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

# Dividing by zero is not an exception here: the check would keep loops from being vectorised. Nothing is allocated, so
# there are no references to count.
COMMON_OPTIONS = {"error_model": "numpy", "_nrt": False}

# What Numba does for any function, in its order.
_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)


class _KernelLibrary(JITCodeLibrary):
    """Code with all the pieces that it is made of."""

    def finalize(self) -> None:
        # LLVM links only what was asked for by then, so that a piece comes before what it needs.
        found: dict[Any, None] = {}
        _find_all_below(self, found)
        self._linking_libraries = list(reversed(found))
        super().finalize()


class _PieceLibrary(JITCodeLibrary):
    """Code that waits for its kernel: no machine code is made of it alone."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> _PieceLibrary:
        """Numba wants to write the address of a function's Python environment into machine code."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """There is none to write it into, and no piece uses Python's objects."""


def _find_all_below(library: Any, found: dict[Any, None]) -> None:
    """What a library needs, once each, and after what that needs in turn."""
    for each in library._linking_libraries:
        if each not in found:
            if isinstance(each, _PieceLibrary):
                _find_all_below(each, found)
            found[each] = None


class KernelCompiler(CompilerBase):
    """For what is called from outside: it ends as machine code."""

    library: type[JITCodeLibrary] = _KernelLibrary

    def define_pipelines(self) -> list[Any]:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        manager = PassManager("kernel")
        for each in _PASSES:
            manager.add_pass(each, each.name())
        manager.finalize()
        return [manager]


class PieceCompiler(KernelCompiler):
    """For what kernels are made of: it ends as code that is linked into them."""

    library = _PieceLibrary


def to_compile(function: Any, compiler: type[KernelCompiler], **options: bool) -> Any:
    """What ``numba.njit`` makes of a function, also where NUMBA_DISABLE_JIT is set."""
    targetoptions = {**COMMON_OPTIONS, "nopython": True, **options}
    return CPUDispatcher(function, targetoptions=targetoptions, pipeline_class=compiler)


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
