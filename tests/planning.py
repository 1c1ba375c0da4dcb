"""Plans as a test wants them: which ways calls take, within which limits, and a record of all that were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from poolgrad.contract.engine import prepare
from poolgrad.plans.limits import Limits
from poolgrad.plans.plan import Plan
from poolgrad.run.calls import forget_calls


class Planning:
    """Stands where plans are asked for. Until told otherwise, limits are the defaults, on any machine."""

    def __init__(self) -> None:
        self.ways: Sequence[str] = ()
        self.avoided: Sequence[str] = ()
        self.limits = Limits()
        self.plans: list[Plan] = []

    def use(self, *, ways: Sequence[str] = (), avoided: Sequence[str] = (), **limits: int) -> None:
        """From now on calls take the first of these ways that is legal for them; if none is, the usual one, but for
        those that are avoided. All that was said before is forgotten."""
        self.ways, self.avoided, self.limits = ways, avoided, replace(Limits(), **limits)
        forget_calls()

    def limit(self, **limits: int) -> None:
        """The same ways within other limits, beside those that were set before."""
        self.limits = replace(self.limits, **limits)
        forget_calls()

    def recording(self) -> list[Plan]:
        """All plans that are made from now on."""
        self.plans = []
        return self.plans

    @property
    def kernels(self) -> list[str]:
        return [made.kernel for made in self.plans]

    def prepare(self, operator: Any, product: Any, values: Mapping[str, Any], threads: int, *, hint: str = "") -> Plan:
        made = prepare(operator, product, values, threads, self.limits, hint=hint)
        if made.choice is not None:
            made = prepare(operator, product, values, threads, self.limits, self._way(made))
        self.plans.append(made)
        return made

    def _way(self, made: Plan) -> str:
        assert made.choice is not None
        verdicts = [verdict for verdict in made.choice.verdicts() if not verdict.lacks]
        legal = {verdict.way for verdict in verdicts}
        usual = (verdict.way for verdict in verdicts if not verdict.costs and verdict.way not in self.avoided)
        return next((way for way in self.ways if way in legal), None) or next(usual)
