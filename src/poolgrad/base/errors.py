"""What the Pythonic layer raises; the documented layer returns the status and keeps the text."""

from __future__ import annotations

from functools import partial


class AclnnError(ValueError):
    """A call that the documented contract refuses.

    ``status`` is the documented code (161001, 161002, ...), ``operator`` and ``parameter`` carry the
    documented C names (``aclnnAvgPool2dBackward``, ``kernelSize``), ``product`` is the name of the product
    whose contract was applied, or ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        operator: str | None = None,
        parameter: str | None = None,
        product: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.operator = operator
        self.parameter = parameter
        self.product = product

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders by pickling; keyword-only arguments need a helping hand.
        facts = {name: getattr(self, name) for name in ("status", "operator", "parameter", "product")}
        return partial(type(self), **facts), (str(self),), vars(self)


class IndexRangeError(AclnnError):
    """An index that points outside its plane; status 507015, found while the kernel runs."""

    place: int | None = None  # of its output among all, in the order of planes, rows and columns; where it was raised
