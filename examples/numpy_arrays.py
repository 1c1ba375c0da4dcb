"""The Pythonic layer on NumPy arrays: dtypes, layouts, out=, errors."""

import ml_dtypes
import numpy as np

import poolgrad

rng = np.random.default_rng(0)

# Pooling itself: means, or maxima and where they stand.
x = rng.standard_normal((8, 16, 56, 56)).astype(np.float32)
pooled = poolgrad.avg_pool2d(x, kernel_size=3, stride=2, padding=1)
values, indices = poolgrad.max_pool2d_with_indices(x, kernel_size=2)
print("pooled       ", pooled.shape, values.dtype, indices.dtype)

# The gradient of the output, and the shape of the input: that is all a pooling gradient needs.
grad = rng.standard_normal((8, 16, 28, 28)).astype(np.float32)
result = poolgrad.avg_pool2d_backward(grad, (8, 16, 56, 56), kernel_size=3, stride=2, padding=1)
print("average      ", result.dtype, result.shape)

# Halves are summed in float32 and rounded once.
half = poolgrad.avg_pool2d_backward(grad.astype(ml_dtypes.bfloat16), (8, 16, 56, 56), 3, 2, 1)
print("bfloat16     ", half.dtype, "largest difference", np.abs(half.astype(np.float32) - result).max())

# Any memory layout goes in and out without a copy; here the output is a channels-last buffer.
buffer = np.empty((8, 56, 56, 16), np.float32)
poolgrad.avg_pool2d_backward(grad, (8, 16, 56, 56), 3, 2, 1, out=buffer.transpose(0, 3, 1, 2))
print("channels last", np.array_equal(buffer.transpose(0, 3, 1, 2), result))

# Max pooling takes int32 or int64 indices, and a bad one is an error instead of a wild write.
bad = np.zeros((1, 1, 2, 2), np.int32)
bad[0, 0, 1, 0] = 99
try:
    poolgrad.max_pool2d_with_indices_backward(np.ones((1, 1, 2, 2), np.float32), (1, 1, 4, 4), bad, 2)
except poolgrad.IndexRangeError as error:
    print("bad index    ", error.status, error)

# The contract of a product: Atlas A2 has no float16 max pooling gradient.
try:
    poolgrad.max_pool2d_with_indices_backward(
        np.ones((1, 1, 2, 2), np.float16), (1, 1, 4, 4), np.zeros((1, 1, 2, 2), np.int32), 2, product="Atlas A2"
    )
except poolgrad.AclnnError as error:
    print("contract     ", error.status, error.parameter, error)
