"""A short way of Numba to kernels: piece by piece into LLVM's language, and a whole kernel at once into machine code.

By itself Numba optimises every piece, makes machine code of it that nobody would run, and optimises it again with each
piece above it. It also looks for much that no piece has: closures, loops to lift out or to run in parallel, expressions
of arrays. Without all this a first call takes little more than half the time.

Only private parts of Numba make this possible; where they have changed, compiling.py takes the long way.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
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


def try_out(**options: Any) -> None:
    """Raise anything if this Numba makes no right code this way: of a kernel with a piece within a piece, in 20 ms."""
    piece = njit(pipeline_class=PieceCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)

    @piece
    def inner(number: int) -> int:
        return number + 1

    @piece
    def outer(number: int) -> int:
        return inner(number) * 2

    @njit("int64(int64)", pipeline_class=KernelCompiler, no_cfunc_wrapper=True, **options)
    def kernel(number: int) -> int:
        return outer(number)

    if kernel(20) != 42:
        raise ValueError("the code is wrong")
