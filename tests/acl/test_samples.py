"""The documents' sample programs, carried over to Python, with the values that they print."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401 - gives NumPy its bfloat16
import numpy as np
import pytest
from contract_cases import SAMPLES, Document, Sample, T
from device import describe, device, download, run, upload

from poolgrad import acl

pytestmark = pytest.mark.doors("Python", "C")


def argument_of(value: Any) -> tuple[Any, int | None]:
    """A tensor's handle and the address of its memory; results begin with numbers that are none of theirs."""
    if isinstance(value, tuple):
        return acl.aclCreateIntArray(value), None
    if not isinstance(value, T):
        return value, None
    if value.values is None:
        array = np.full(value.shape, 77, value.dtype)
    else:
        array = np.array(value.values, value.stored or value.dtype)
    address = upload(array)
    return describe(value.shape, value.dtype, value.format, address), address


@pytest.mark.parametrize(
    ("document", "sample", "product"),
    [pytest.param(d, s, product, id=f"{d.name}-{s.why}-{product}") for d, s, product in SAMPLES],
)
def test_sample(document: Document, sample: Sample, product: str) -> None:
    with device(product) as stream:
        made = {name: argument_of(sample.call[name]) for name in document.types}
        assert run(document.name, stream, *(handle for handle, _ in made.values())) == sample.status
        if sample.status:
            message = acl.aclGetRecentErrMsg() or ""
            assert [part for part in sample.told if part not in message] == []
            assert acl.aclrtSynchronizeStream(stream) == 0, "a failure is answered once"
            return
        assert list(sample.results) == document.outputs
        for name, values in sample.results.items():
            tensor, address = sample.call[name], made[name][1]
            found = download(address, tensor.shape, tensor.dtype)
            assert np.array_equal(found.ravel(), np.array(values, tensor.dtype))
