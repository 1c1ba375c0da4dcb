"""Expected results for msOpST: one function per operator, named in a case's ``calc_expect_func_file``.

msOpST describes each tensor by a dict with ``value``, ``dtype``, ``shape`` and ``format``, and passes those that have a
name in the case by that name, and attributes by theirs: the names of the graph operator (``ir.py``), or those of C. The
answer is a list of NumPy arrays. msOpST loads the file by its path, so imports are absolute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poolgrad.arrays.files import BFLOAT16, numpy_dtype
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY
from poolgrad.plugins import ir
from poolgrad.plugins.calls import bound, golden

Array = NDArray[Any]


def _function(operator: Operator) -> Callable[..., list[Array]]:
    def expected(*tensors: Any, **named: Any) -> list[Array]:
        return _expected(operator, tensors, named)

    graphs, names = (graph.name for graph in operator.ir), (p.name for p in operator.parameters if not p.output)
    expected.__name__ = expected.__qualname__ = operator.python_name
    expected.__doc__ = f"{'; '.join((*graphs, operator.name))}({', '.join(names)})"
    return expected


globals().update({operator.python_name: _function(operator) for operator in REGISTRY.values()})
if TYPE_CHECKING:  # checkers see no names that are made

    def __getattr__(name: str) -> Callable[..., list[Array]]: ...


def _expected(operator: Operator, tensors: tuple[Any, ...], named: dict[str, Any]) -> list[Array]:
    named = bound(operator, tensors, {}) | named
    described = {name: given for name, given in named.items() if isinstance(given, dict)}
    formats = {str(given["format"]) for name, given in described.items() if given.get("format") and name != ir.SHAPE}
    values = {name: _value(given) if name in described else given for name, given in named.items()}
    values = {name: value for name, value in values.items() if value is not None}  # an output has no value
    arguments = ir.renamed(operator, values)
    for output in operator.outputs:
        arguments.pop(output.name, None)
        dtype = ir.renamed(operator, described).get(output.name, {}).get("dtype")
        if dtype and output.role is Role.PLACES:  # which the call's other tensors don't tell
            arguments[output.name] = numpy_dtype(dtype).name
    _check_names(operator, named, arguments)
    if ir.is_spoken(operator, values):
        layout = ir.layout_of(operator, arguments[operator.inputs[0].name].ndim, values, formats)
        results = zip(operator.outputs, golden(operator, ir.documented(layout, arguments, values)), strict=True)
        return [result if p.role is Role.MASK else layout.back(result) for p, result in results]
    format = next((format for format in ir.CHANNELS_LAST if format in formats), None)
    return golden(operator, arguments, formats={p.name: format for p in operator.tensors} if format else None)


def _check_names(operator: Operator, named: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Nothing that has to be there is missing, no attribute is one that would go unheard."""
    missing = [p.name for p in operator.inputs if p.name not in arguments]
    if missing:
        raise TypeError(
            f"{operator.name}: there is no {' and no '.join(missing)} among {', '.join(named) or 'no arguments'}. "
            "msOpST passes tensors that have a name in the case: give each the name that the operator's IR or C has."
        )
    for name, given in named.items():
        if not isinstance(given, dict) and name not in ir.WORDS and not ir.renamed(operator, {name: given}):
            raise TypeError(f"{operator.name} has no attribute {name}. Take it out of the case, or correct its name.")


def _value(tensor: dict[str, Any]) -> Any:
    """A tensor's numbers in the type that its description names; bfloat16 may come as its bits, or wider."""
    value, name = tensor.get("value"), tensor.get("dtype")
    if value is None or name is None:
        return value if value is None else np.asarray(value)
    array, dtype = np.asarray(value), numpy_dtype(name)
    if dtype == BFLOAT16 and array.dtype.name in ("uint16", "int16"):
        return array.view(BFLOAT16)
    return array.astype(dtype, copy=False)
