"""Pooling on the CPU, forward and backward, with the contract of CANN's aclnn operators.

Two layers: the functions here take NumPy arrays, torch CPU tensors, DLPack objects and Dask arrays; ``poolgrad.acl``
has the documented C names in two phases, with streams, device memory and status codes.
"""

from .base.errors import AclnnError, IndexRangeError
from .functional import *  # noqa: F403
from .functional import __all__ as _functions
from .masks import indices_to_mask, mask_to_indices
from .precision import compare
from .run.elsewhere import takes as _takes
from .run.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "AclnnError",
    "IndexRangeError",
    "compare",
    "get_num_threads",
    "indices_to_mask",
    "mask_to_indices",
    "set_num_threads",
    *_functions,
]

_PUBLIC_MODULES = ("acl", "dask", "torch")

_takes("dask.array", "Array", by="poolgrad.dask")
_takes("zarr", "Array", by="poolgrad.blocks.stored")


def __dir__() -> list[str]:
    """What users call; the modules that make it are theirs to import by name, and would only hide it."""
    return [name for name in globals() if name in __all__ or name in _PUBLIC_MODULES or name.startswith("__")]
