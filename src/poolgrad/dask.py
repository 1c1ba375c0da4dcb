"""Pooling for Dask arrays, forwards and backwards by poolgrad: lazy, in any chunks, on one machine or a cluster.

The functions have the names and arguments of ``poolgrad``'s, which send Dask arrays here by themselves. Whatever types
and shapes decide is refused at once; a bad index is raised by its task and names its place in the whole array.

A block of the result is one task. Along axes that are not pooled it has the chunks of its input. Where pooled axes are
chunked, a task also reads what its windows need of neighbouring chunks (``blocks/parts.py``), if that gives the same
bits; if it does not, planes are put together first, and a ``UserWarning`` says so. A task computes on one thread.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import getitem
from typing import TYPE_CHECKING, Any

try:
    import dask.array as da
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("dask"):  # it is there, and lacks something itself
        raise
    raise ModuleNotFoundError(
        'poolgrad.dask needs Dask, which is not installed here. Run: pip install "dask[array]" distributed '
        '(or, in a checkout of poolgrad: pip install ".[dask]"). '
        "All else of poolgrad works without it.",
        name="dask",
    ) from None
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from . import functional, masks
from .arrays.files import in_bytes
from .base.errors import IndexRangeError
from .base.windows import Windows
from .blocks.calls import Block, Range, Whole, judged
from .blocks.parts import cut_by_elements, cut_by_windows
from .contract.engine import Call
from .contract.masks import mask_shape
from .contract.operator import Operator
from .contract.parameters import Role
from .operators import REGISTRY
from .run.calls import Options, one_or_all

Chunks = tuple[tuple[int, ...], ...]
Graph = dict[Any, Any]

# A worker runs as many tasks at once as Dask gave it threads.
THREADS_OF_A_TASK = 1


def call(operator: Operator, arrays: tuple[Any, ...], numbers: tuple[Any, ...], options: Options, out: Any) -> Any:
    """The lazy results of an operator; what ``run/calls.py`` is asked for and leaves to us."""
    _refuse_out(out)
    for p, array in zip(operator.inputs, arrays, strict=True):
        if array is not None and not (not p.read and isinstance(array, tuple | list)):
            _look_at(p.python_name, array, p.read)
    whole = judged(operator, arrays, numbers, options)
    return one_or_all(_results(whole, dict(zip((p.role for p in operator.inputs), arrays, strict=True))))


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise TypeError(
            "out must be None for Dask arrays, whose results are lazy. Write them with dask.array.store or .to_zarr."
        )


def _look_at(name: str, array: Any, read: bool) -> None:
    """Refuse what can't be a part of a graph, as far as it is known before it runs."""
    if not isinstance(array, da.Array):
        if not read and hasattr(array, "shape"):
            return  # a description is enough
        raise TypeError(
            f"{name} must be a Dask array, as others of this call are, got {type(array).__name__}. "
            f"Try dask.array.from_array({name})."
        )
    if any(math.isnan(size) for size in array.shape):
        raise ValueError(
            f"{name} must have chunks of known sizes, got shape {array.shape}. Call compute_chunk_sizes()."
        )
    if isinstance(array._meta, np.ma.MaskedArray):
        raise TypeError(f"{name} has masked chunks, and masks would be ignored. Pass dask.array.ma.filled({name}, 0).")
    if not isinstance(array._meta, np.ndarray):
        kind = f"{type(array._meta).__module__}.{type(array._meta).__name__}"
        raise TypeError(
            f"{name} must have chunks that are NumPy arrays, got {kind}. Try {name}.map_blocks(numpy.asarray)."
        )


def _results(whole: Whole, given: dict[Role, Any]) -> tuple[Any, ...]:
    if not all(whole.call.tensor(p).count for p in whole.operator.tensors):  # nothing, or the gradient of nothing
        return tuple(da.zeros(tensor.shape, dtype=tensor.dtype.name) for tensor in whole.results)
    pooled = {i: w for (i, letter), w in zip(_pooled(whole), whole.windows, strict=True)}
    if whole.whole_planes:
        _put_together(whole, given, list(pooled), whole.whole_planes)
    if whole.has_mask:
        _put_together(whole, given, [whole.layout.index("C")], "a mask has words for several channels")
    chunks = _chunks(whole, given, pooled)
    arrays = [given[p.role] if p.read else None for p in whole.operator.inputs]
    if whole.has_mask and whole.operator.is_gradient:
        place = [p.role for p in whole.operator.inputs].index(Role.MASK)
        arrays[place] = _bytes_of_images(whole, arrays[place], chunks)
    read = [array for array in arrays if array is not None]
    token = tokenize(whole, [array.name for array in read], chunks)
    name = f"{whole.operator.python_name}-{token}"
    graph: Graph = {}
    sources = [None if array is None else _Source(array, f"part-{token}") for array in arrays]
    for index, ranges in _blocks(chunks):
        block = Block(whole, ranges)
        pieces = [
            None if source is None else source.pieces(block.mask_part if part is None else part, graph)
            for source, part in zip(sources, block.reads, strict=True)
        ]
        graph[name, *index] = (_compute, block, *pieces)
    layers = HighLevelGraph.from_collections(name, graph, dependencies=read)
    if len(whole.results) == 1:
        return (_array(layers, name, chunks, whole.results[0].dtype.name),)
    return tuple(_picked(whole, layers, name, number, chunks) for number in range(len(whole.results)))


def _compute(block: Block, *pieces: Any) -> Any:
    """The task of a block: its result, or a tuple of several."""
    read = (None if piece is None else _joined(piece) for piece in pieces)
    return one_or_all(block.compute(*read, threads=THREADS_OF_A_TASK))


def _joined(piece: Any) -> Any:
    return piece if isinstance(piece, np.ndarray) else np.block(piece)


def _array(graph: HighLevelGraph, name: str, chunks: Chunks, dtype: str) -> Any:
    return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype))


def _picked(whole: Whole, graph: HighLevelGraph, name: str, number: int, chunks: Chunks) -> Any:
    """One of several results."""
    role, dtype, own = whole.operator.outputs[number].role, whole.results[number].dtype.name, f"{number}-{name}"
    indices = list(itertools.product(*(range(len(sizes)) for sizes in chunks)))
    layers = {own: {(own, *index): (getitem, (name, *index), number) for index in indices}}
    if role is not Role.MASK:
        return _array(_on_top(graph, layers, name), own, chunks, dtype)
    # Bytes of images, in the order of images; the numbers of their chunks are those along N.
    images = chunks[0] if whole.layout[0] == "N" else (1,)
    layers = {own: {(own, number): layers[own][own, *index] for number, index in enumerate(indices)}}
    sizes = tuple(many * whole.bytes_per_image for many in images)
    return _as_mask(whole, _array(_on_top(graph, layers, name), own, (sizes,), dtype), images)


def _on_top(graph: HighLevelGraph, layer: dict[str, Graph], below: str) -> HighLevelGraph:
    (name,) = layer
    return HighLevelGraph({**graph.layers, **layer}, {**graph.dependencies, name: {below}})


# Masks, whose bytes are one stream over all images, however many of them an image fills.


def indices_of_mask(gives: Operator, call: Call, mask: Any, dtype: str, out: Any) -> Any:
    """What ``masks.py`` leaves to us: a chunk of images after the other, of the forward pass that gives such masks."""
    whole, chunks = _converted(gives, call, "mask", mask, out)
    if not mask.size:
        return da.zeros(whole.results[0].shape, dtype=dtype)
    stream = _bytes_of_images(whole, mask, chunks)
    name = f"mask_to_indices-{tokenize(whole, mask.name, dtype)}"
    graph = {
        (name, *index): (_indices_of, Block(whole, ranges), (stream.name, number), dtype)
        for number, (index, ranges) in enumerate(_blocks(chunks))
    }
    return _array(HighLevelGraph.from_collections(name, graph, dependencies=[stream]), name, chunks, dtype)


def mask_of_indices(gives: Operator, call: Call, indices: Any, out: Any) -> Any:
    """The same the other way."""
    whole, chunks = _converted(gives, call, "indices", indices, out)
    if not indices.size:
        return da.zeros(mask_shape(whole.call), dtype=np.int8)
    indices = indices.rechunk(chunks)
    name = f"indices_to_mask-{tokenize(whole, indices.name)}"
    graph = {
        (name, number): (_mask_of, Block(whole, ranges), (indices.name, *index))
        for number, (index, ranges) in enumerate(_blocks(chunks))
    }
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[indices])
    images = chunks[0] if whole.layout[0] == "N" else (1,)
    sizes = tuple(many * whole.bytes_per_image for many in images)
    return _as_mask(whole, _array(layers, name, (sizes,), "int8"), images)


def _converted(gives: Operator, call: Call, name: str, array: Any, out: Any) -> tuple[Whole, Chunks]:
    """The forward pass, and the chunks of its indices: some images each."""
    _refuse_out(out)
    _look_at(name, array, True)
    x = call.tensor(Role.INPUT)
    numbers = tuple(call.values[p.name] for p in gives.numbers)
    whole = Whole(gives.name, numbers, (call.product_name, None, None), ((np.dtype(x.dtype.name), x.shape),))
    shape = whole.results[0].shape
    images = (tuple(n for n in array.chunks[0] if n),) if whole.layout[0] == "N" else ()
    return whole, (*images, *((size,) for size in shape[len(images) :]))


def _indices_of(block: Block, stream: Any, dtype: str) -> Any:
    return _convert(masks.mask_to_indices, block, block.local_mask(stream), index_dtype=dtype)


def _mask_of(block: Block, indices: Any) -> Any:
    ((begin, end),) = block.mask_part
    return _convert(masks.indices_to_mask, block, indices).reshape(-1)[: end - begin]


def _convert(function: Callable[..., Any], block: Block, array: Any, **more: Any) -> Any:
    x_shape = tuple(high - low for low, high in block.input_ranges)
    try:
        return function(array, x_shape, *block.whole.numbers, product=block.whole.options[0], **more)
    except IndexRangeError as error:
        if first := block.mask_part[0][0] // block.whole.bytes_per_image:
            error.args = (f"{error} Its chunk begins with image {first}, which is 0 here.",)
        raise


def _as_mask(whole: Whole, stream: Any, images: tuple[int, ...]) -> Any:
    """The bytes that are used, then zeros, in the shape of the mask."""
    shape = mask_shape(whole.call)
    each = math.prod(shape) // sum(images)
    rest = da.zeros(math.prod(shape) - stream.size, dtype=stream.dtype, chunks=max(images) * each)
    flat = da.concatenate([stream, rest]).rechunk((tuple(many * each for many in images),))
    lead = (images,) if whole.layout[0] == "N" else ()
    chunks = (*lead, *((size,) for size in shape[len(lead) :]))
    return _reshaped(flat, chunks, "mask")


def _bytes_of_images(whole: Whole, mask: Any, chunks: Chunks) -> Any:
    """The bytes of a mask that are used, in chunks of the images that each block has."""
    has_batch = whole.layout[0] == "N"
    mask = mask.rechunk(dict.fromkeys(range(1 if has_batch else 0, mask.ndim), -1))
    each = mask.size // (mask.shape[0] if has_batch else 1)
    flat = _reshaped(mask, (tuple(many * each for many in mask.chunks[0]) if has_batch else (mask.size,),), "bytes")
    sizes = tuple(many * whole.bytes_per_image for many in (chunks[0] if has_batch else (1,)))
    return flat[: sum(sizes)].rechunk((sizes,))


def _reshaped(array: Any, chunks: Chunks, word: str) -> Any:
    """The same elements in other shapes, chunk by chunk: both have one axis that is chunked at most, the first."""
    name = f"{word}-{tokenize(array.name, chunks)}"
    shapes = [tuple(r[1] - r[0] for r in ranges) for _, ranges in _blocks(chunks)]
    graph = {
        (name, number, *[0] * (len(chunks) - 1)): (np.reshape, (array.name, number, *[0] * (array.ndim - 1)), shape)
        for number, shape in enumerate(shapes)
    }
    return _array(HighLevelGraph.from_collections(name, graph, dependencies=[array]), name, chunks, array.dtype)


# Chunks.


def _pooled(whole: Whole) -> list[tuple[int, str]]:
    return [(i, letter) for i, letter in enumerate(whole.layout) if letter in whole.operator.axes]


def _put_together(whole: Whole, given: dict[Role, Any], axes: Sequence[int], why: str) -> None:
    """Have one chunk along these axes, in all inputs, and say so where that changes anything."""
    for p in whole.operator.inputs:
        array = given[p.role]
        if not isinstance(array, da.Array) or p.role is Role.MASK:  # whose bytes are put in order anyway
            continue
        chunked = [axis for axis in axes if array.numblocks[axis] > 1]
        if not chunked:
            continue
        given[p.role] = array.rechunk(dict.fromkeys(chunked, -1))
        if p.read:
            letters = ", ".join(f"{whole.layout[axis]} (chunks of {array.chunksize[axis]})" for axis in chunked)
            nbytes = math.prod(given[p.role].chunksize) * array.dtype.itemsize
            warnings.warn(
                f"{whole.operator.python_name}: {p.python_name} is chunked along {letters} and is put together there, "
                f"since {why}. Its chunks now take up to {in_bytes(nbytes)}; rechunk it over N or C to choose.",
                stacklevel=7,
            )


def _chunks(whole: Whole, given: dict[Role, Any], pooled: dict[int, Windows]) -> Chunks:
    """The chunks of the result: of the forward pass's input where that is a Dask array, else they follow from the
    gradient's."""
    x, is_gradient = given[Role.INPUT], whole.operator.is_gradient
    lazy = isinstance(x, da.Array)

    def along(axis: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        w = pooled.get(axis)
        if w is None:
            return sizes
        if whole.whole_planes:
            return (w.size if is_gradient else w.out,)
        if is_gradient:
            return sizes if lazy else cut_by_windows(w, sizes)
        return cut_by_elements(w, sizes)

    given_chunks = (x if lazy else given[Role.GRADIENT]).chunks
    # Empty chunks, which selections leave behind, have no blocks.
    return tuple(along(axis, tuple(n for n in sizes if n)) for axis, sizes in enumerate(given_chunks))


def _blocks(chunks: Chunks) -> Iterator[tuple[tuple[int, ...], tuple[Range, ...]]]:
    """Each block's number along each axis, and where it lies."""
    axes = [list(enumerate(itertools.pairwise(itertools.accumulate(sizes, initial=0)))) for sizes in chunks]
    for block in itertools.product(*axes):
        yield tuple(number for number, _ in block), tuple(r for _, r in block)


class _Source:
    """An array that blocks read parts of."""

    def __init__(self, array: Any, name: str) -> None:
        self._name, self._part = array.name, f"{name}-{array.name}"
        self._bounds = [list(itertools.accumulate(sizes, initial=0)) for sizes in array.chunks]

    def pieces(self, part: tuple[Range, ...], graph: Graph) -> Any:
        """The chunk that a part is, or a nested list of all that it is made of.

        Of other chunks than whole ones a task of their own cuts out what is needed, so that only this is sent around.
        """
        along = [list(_overlaps(bounds, *r)) for bounds, r in zip(self._bounds, part, strict=True)]

        def nested(axis: int, taken: tuple[tuple[int, slice], ...]) -> Any:
            if axis < len(along):
                inner = [nested(axis + 1, (*taken, piece)) for piece in along[axis]]
                return inner[0] if single else inner
            numbers, cuts = zip(*taken, strict=True)
            source = (self._name, *numbers)
            if all(cut == slice(None) for cut in cuts):
                return source
            ends = [end for cut in cuts for end in (cut.start or 0, cut.stop or 0)]
            graph[self._part, *numbers, *ends] = (getitem, source, cuts)
            return (self._part, *numbers, *ends)

        single = all(len(pieces) == 1 for pieces in along)
        return nested(0, ())


def _overlaps(bounds: list[int], low: int, high: int) -> Iterator[tuple[int, slice]]:
    """The chunks that a range touches, and which part of each."""
    for number in range(bisect_right(bounds, low) - 1, bisect_left(bounds, high)):
        begin, end = bounds[number : number + 2]
        first, stop = max(low, begin), min(high, end)
        if first < stop:
            yield number, slice(None) if (first, stop) == (begin, end) else slice(first - begin, stop - begin)


# Functions.


def _function(operator: Operator) -> Callable[..., Any]:
    """The function of the operator, for Dask arrays only."""
    function, leader = getattr(functional, operator.python_name), operator.inputs[0].python_name
    signature = inspect.signature(function)

    @functools.wraps(function)
    def lazy(*given: Any, **named: Any) -> Any:
        array = signature.bind(*given, **named).arguments[leader]
        if not isinstance(array, da.Array):
            raise TypeError(
                f"{leader} must be a Dask array, got {type(array).__name__}. Try dask.array.from_array({leader}), or "
                f"poolgrad.{operator.python_name} for arrays in memory."
            )
        return function(*given, **named)

    lazy.__doc__ = f"``poolgrad.{operator.python_name}`` of Dask arrays: {operator.summary}, lazily."
    return lazy


_FUNCTIONS = {operator.python_name: _function(operator) for operator in REGISTRY.values()}
globals().update(_FUNCTIONS)
__all__ = sorted(_FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...
