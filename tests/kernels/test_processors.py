"""Kernels are made of code that LLVM can turn into machine code of other processors."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import pytest

from poolgrad.kernels import kernel_function
from poolgrad.kernels.jit.compiling import kernel_to_compile
from poolgrad.kernels.jit.memory import inlined_piece, piece_named
from poolgrad.kernels.runtime.runner import kernel_signature


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("average_few_windows_3_2_1_0_0_1_0", {"stnp", "prfm"}),
        ("average_few_windows_3_2_1_1_0_1_0", {"stnp", "prfm"}),
        ("average_small_planes", {"stnp", "fcvtn"}),
        ("average_few_windows_3_1_1_0_0_1_0", {"stnp", "prfm"}),
        ("average_layers_of_few_windows_3_1_1_0_0_1_0", {"stnp", "prfm"}),
        ("average_touching_pixels", {"stnp", "fcvtn"}),
        ("pool_max_pixels", {"prfm", "fcvtn"}),
        ("average_few_windows_3_2_1_0_0_1_2", {"stnp", "fcvtn", "prfm"}),
        ("max_pixels_ask_k3s1", {"stnp", "prfm"}),
        ("max_touching_pairs", {"stnp", "fcvtn"}),
        ("max_touching_3", {"stnp"}),
        ("scatter_halves", {"fcvt"}),
        ("scatter_bands", {"stnp", "fcvtn"}),
    ],
)
def test_arm64(name: str, special: set[str]) -> None:
    """No instruction is named that only one processor has, and the code compiles for arm64 to instructions of its own:
    pairs stored past the caches, half precision, a prefetch. It is not run here."""
    function = kernel_function(name)
    compiled = kernel_to_compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    compiled.compile(kernel_signature(function.__code__.co_argcount - 6, "float32"))
    (code,) = compiled.inspect_llvm().values()
    assert not re.findall(r"llvm\.(x86|aarch64|arm)\.", code)

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "aarch64-unknown-linux-gnu"
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu="generic", opt=2)
    code = re.sub(r'target triple = ".*"', f'target triple = "{triple}"', code)
    code = re.sub(r'target datalayout = ".*"', f'target datalayout = "{machine.target_data}"', code)
    parsed = llvm.parse_assembly(code)
    parsed.verify()
    assembly = machine.emit_assembly(parsed)
    assert {instruction for instruction in special if instruction in assembly} == special


def test_a_piece_is_inlined_only_if_it_says_so() -> None:
    """Numba hands options that are not set down to what a function calls: first calls would take twice as long."""

    @piece_named("plain_piece")
    def plain(number: int) -> int:
        return number + 1

    @inlined_piece
    def inlined(number: int) -> int:
        return plain(number) * 2  # type: ignore[no-any-return]

    def kernel(number: int) -> int:
        return inlined(number)  # type: ignore[no-any-return]

    compiled = kernel_to_compile(kernel)
    compiled.compile("int64(int64)")
    assert compiled(20) == 42
    for made, is_inlined in ((plain, False), (inlined, True)):
        (code,) = (overload.library.get_llvm_str() for overload in made.overloads.values())
        assert ("alwaysinline" in code) == is_inlined
