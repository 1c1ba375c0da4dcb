"""The Pythonic functions, from the files of their operators. Made by tools/make_docs.py."""

from .operators.adaptive_avg_pool2d import adaptive_avg_pool2d as adaptive_avg_pool2d
from .operators.adaptive_avg_pool2d_backward import adaptive_avg_pool2d_backward as adaptive_avg_pool2d_backward
from .operators.adaptive_avg_pool3d import adaptive_avg_pool3d as adaptive_avg_pool3d
from .operators.adaptive_avg_pool3d_backward import adaptive_avg_pool3d_backward as adaptive_avg_pool3d_backward
from .operators.adaptive_max_pool2d import adaptive_max_pool2d as adaptive_max_pool2d
from .operators.adaptive_max_pool2d_backward import adaptive_max_pool2d_backward as adaptive_max_pool2d_backward
from .operators.adaptive_max_pool3d import adaptive_max_pool3d as adaptive_max_pool3d
from .operators.adaptive_max_pool3d_backward import adaptive_max_pool3d_backward as adaptive_max_pool3d_backward
from .operators.avg_pool2d import avg_pool2d as avg_pool2d
from .operators.avg_pool2d_backward import avg_pool2d_backward as avg_pool2d_backward
from .operators.avg_pool3d import avg_pool3d as avg_pool3d
from .operators.avg_pool3d_backward import avg_pool3d_backward as avg_pool3d_backward
from .operators.max_pool import max_pool as max_pool
from .operators.max_pool2d_with_indices import max_pool2d_with_indices as max_pool2d_with_indices
from .operators.max_pool2d_with_indices_backward import (
    max_pool2d_with_indices_backward as max_pool2d_with_indices_backward,
)
from .operators.max_pool2d_with_mask import max_pool2d_with_mask as max_pool2d_with_mask
from .operators.max_pool2d_with_mask_backward import max_pool2d_with_mask_backward as max_pool2d_with_mask_backward
from .operators.max_pool3d_with_argmax import max_pool3d_with_argmax as max_pool3d_with_argmax
from .operators.max_pool3d_with_argmax_backward import (
    max_pool3d_with_argmax_backward as max_pool3d_with_argmax_backward,
)

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_backward",
    "adaptive_avg_pool3d",
    "adaptive_avg_pool3d_backward",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_backward",
    "avg_pool2d",
    "avg_pool2d_backward",
    "avg_pool3d",
    "avg_pool3d_backward",
    "max_pool",
    "max_pool2d_with_indices",
    "max_pool2d_with_indices_backward",
    "max_pool2d_with_mask",
    "max_pool2d_with_mask_backward",
    "max_pool3d_with_argmax",
    "max_pool3d_with_argmax_backward",
]
