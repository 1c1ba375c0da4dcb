"""ULP distances in buckets that double: 0, 1, 2, 3 to 4, 5 to 8, ..."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BUCKETS = 66  # the last one ends at 2**64


def bucket_of(ulp: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """The number of the bucket that holds each distance.

    >>> bucket_of(np.array([0, 1, 2, 3, 4, 5, 8, 9], np.uint64)).tolist()
    [0, 1, 2, 3, 3, 4, 4, 5]
    """
    below = ulp - np.uint64(1)  # of 0 it is a large number, corrected at the end
    below &= ~(below >> np.uint64(1))  # keeps the highest bit, and the conversion from rounding up to the next one
    _, exponent = np.frexp(below.astype(np.float64))
    return np.where(ulp == 0, 0, exponent + 1).astype(np.int32)


def bounds_of(bucket: int) -> tuple[int, int]:
    """The smallest and the largest distance in a bucket.

    >>> [bounds_of(bucket) for bucket in range(5)]
    [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8)]
    """
    if bucket <= 2:
        return bucket, bucket
    return 2 ** (bucket - 2) + 1, 2 ** (bucket - 1)
