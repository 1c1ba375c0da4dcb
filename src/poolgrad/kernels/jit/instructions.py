"""Instructions that Numba does not have, each written as one function that makes LLVM code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

IS_X86 = llvm.get_process_triple().startswith("x86_64")
IS_ARM = llvm.get_process_triple().startswith(("aarch64", "arm64"))


def call_named(builder: ir.IRBuilder, result: ir.Type, name: str, *arguments: ir.Value) -> ir.Value:
    """A call of a function that LLVM, the processor or the C library has."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def instruction(rule: Any, constants: int = 0) -> Any:
    """Makes a function that kernels can call of one that writes its code: of a builder, and a value for each argument.

    ``rule`` is its signature, or makes it of the arguments' types. The last ``constants`` arguments must be constants,
    and come as Python's integers. Tuples come and go as lists.
    """

    def made(write: Callable[..., Any]) -> Any:
        def declared(typing_context: Any, *given: types.Type) -> Any:
            fixed = given[len(given) - constants :]
            if not all(isinstance(kind, types.IntegerLiteral) for kind in fixed):
                return None
            signature = rule(*map(types.unliteral, given[: len(given) - constants]), *fixed) if callable(rule) else rule
            numbers = [kind.literal_value for kind in fixed]

            def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> ir.Value:
                pairs = zip(signature.args[: len(values) - constants], values, strict=False)
                parts = [cgutils.unpack_tuple(builder, v) if isinstance(t, types.BaseTuple) else v for t, v in pairs]
                result = write(builder, *parts, *numbers)
                if isinstance(result, list):
                    return context.make_tuple(builder, signature.return_type, result)
                return context.get_dummy_value() if signature.return_type is types.void else result

            return signature, generate

        # Numba counts the arguments of this.
        declared.__signature__ = inspect.signature(write)  # type: ignore[attr-defined]
        declared.__name__, declared.__doc__ = write.__name__, write.__doc__
        made_of_it = intrinsic(prefer_literal=constants > 0)(declared)
        made_of_it.write = write  # for instructions that are made of others
        return made_of_it

    return made


def loading(base: types.Type, index: types.Type, unit: types.Type) -> Any:
    """The rule of what loads a number of the type of ``unit``."""
    return unit(types.int64, types.int64, unit)


def storing(base: types.Type, index: types.Type, value: types.Type) -> Any:
    """The rule of what stores a value."""
    return types.void(types.int64, types.int64, value)
