"""Case files: what calls to try, how their data are made, and what the contract says to them."""

from .model import BadCase, Case, CaseTensor, Values
from .reading import read_cases

__all__ = ["BadCase", "Case", "CaseTensor", "Values", "read_cases"]
