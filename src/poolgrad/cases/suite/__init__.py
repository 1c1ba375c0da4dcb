"""Cases that CANN's own suite never has, each with its reason and the status that it expects."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Case
from .average import adaptive_average_suite, average_suite
from .building import Suite
from .maximum import adaptive_max_suite, max_suite

_SUITES: dict[str, Callable[[], Suite]] = {
    "aclnnAvgPool2dBackward": average_suite,
    "aclnnAdaptiveAvgPool3dBackward": adaptive_average_suite,
    "aclnnMaxPool2dWithIndicesBackward": max_suite,
    "aclnnAdaptiveMaxPool2dBackward": adaptive_max_suite,
}


def suite_of(operator_name: str) -> list[Case]:
    """The cases of an operator."""
    return _SUITES[operator_name]().cases
