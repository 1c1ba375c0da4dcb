"""Calls that the contract allowed and a plan was made for, kept from call to call for every door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.products import Product
from ..contract.engine import Value, prepare
from ..contract.operator import Operator
from ..kernels import is_loaded
from ..plans.plan import Plan
from .execute import Task


class Prepared:
    """A plan, and its task once it is to run. ``last_launch`` is for the documented layer, which says what it is."""

    __slots__ = ("_task", "last_launch", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.last_launch: Any = None
        self._task: Task | None = None

    @property
    def task(self) -> Task | None:
        """None if there is nothing to do. The first time, its kernel may have to be compiled."""
        if self._task is None and self.plan.kernel:
            self._task = Task(self.plan)
        return self._task

    @property
    def is_compiled(self) -> bool:
        plan = self.plan
        return self._task is not None or not plan.kernel or is_loaded(plan.kernel, plan.compute)


# By everything that a plan depends on. What is refused is never kept.
PREPARED: dict[tuple[object, ...], Prepared] = {}
MOST_PREPARED = 1024


def prepared_call(
    operator: Operator, product: Product, values: Mapping[str, Value], threads: int, hint: str = ""
) -> Prepared:
    """The call's plan for that many threads; ``AclnnError``, with the hint, for the first row that it breaks."""
    key = (operator.name, product, threads, *values.values())
    prepared = PREPARED.get(key)
    if prepared is None:
        prepared = Prepared(prepare(operator, product, values, threads, hint=hint))
        if len(PREPARED) >= MOST_PREPARED:
            PREPARED.clear()
        PREPARED[key] = prepared
    return prepared
