"""Values written as in Python: literals, words without quotes, and small sums. Nothing is run, and nothing grows large.

>>> literal("(ND, 2**10, float('-inf'))")
('ND', 1024, -inf)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .building import is_int, is_number

_NAMES = {"nan": float("nan"), "inf": float("inf"), "true": True, "false": False}  # in any case, as spreadsheets write
_SIGNS: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_SUMS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
# Integers of more bits are of no use to any call, and 2**10**10 would take all memory.
_BITS = 1024


class NoLiteral(Exception):
    """Text that is no value."""


def literal(text: str) -> Any:
    """The value: numbers, text, None, and tuples, lists and dicts of them. ``NoLiteral`` if it is none."""
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise NoLiteral(str(error)) from error


def _value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=None | str() | bool() | int() | float() as value):
            return value
        case ast.Name(id=word):
            return _NAMES.get(word.casefold(), word)
        case ast.Tuple(elts=elements):
            return tuple(map(_value, elements))
        case ast.List(elts=elements):
            return list(map(_value, elements))
        case ast.Dict(keys=keys, values=values):
            return dict(zip(map(_value, keys), map(_value, values), strict=True))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_number(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SUMS:
            return _sum(sign, _number(left), _number(right))
        case ast.Call(
            func=ast.Name(id="float"), args=[ast.Constant(value=str() | int() | float() as value)], keywords=[]
        ):
            return float(value)
    raise NoLiteral(f"{type(node).__name__} is no value")


def _number(node: ast.expr) -> Any:
    value = _value(node)
    if not is_number(value):
        raise NoLiteral(f"{value!r} is no number")
    return value


def _sum(sign: ast.operator, left: Any, right: Any) -> int | float:
    # A power of integers has at most so many bits; all other results are little longer than what they are made of.
    if isinstance(sign, ast.Pow) and is_int(left) and is_int(right) and left.bit_length() * right > _BITS:
        raise NoLiteral("the number is too large")
    result = _SUMS[type(sign)](left, right)
    if not is_number(result) or (is_int(result) and result.bit_length() > _BITS):  # a root of -1, say
        raise NoLiteral("the number is too large, or none")
    return result  # type: ignore[no-any-return]
