"""Karpenter's algebra of requirements on labels: which values are left, and whether two can be met together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from kschedweb.engine.autoscaling.offers.labels import NORMALIZED, RESTRICTED, listed
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.validation.golang import INT64_MAX, quote

IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "In", "NotIn", "Exists", "DoesNotExist"
GT, LT, GTE, LTE = "Gt", "Lt", "Gte", "Lte"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT, GTE, LTE)
SHOWN = 5  # values of a requirement that a message names
Written = tuple[str, str, tuple[str, ...]]
"""A requirement as it is written: key, operator, values."""


class Requirement:
    """The values that a label may have: ``values``, or with ``complement`` all others.

    ``least`` and ``most`` bound whole numbers. ``min_values`` is how many values there must be to choose from; alone it
    can change, for all that share the requirement, as in Karpenter.
    """

    __slots__ = ("complement", "key", "least", "min_values", "most", "values")

    def __init__(
        self,
        key: str,
        values: frozenset[str],
        complement: bool = False,
        least: int | None = None,
        most: int | None = None,
        min_values: int | None = None,
    ) -> None:
        self.key, self.values, self.complement = key, values, complement
        self.least, self.most, self.min_values = least, most, min_values

    @property
    def rule(self) -> Hashable:
        """Equal for requirements that allow the same values."""
        return self.key, self.values, self.complement, self.least, self.most

    @property
    def operator(self) -> str:
        """One of In, NotIn, Exists and DoesNotExist; bounds count as Exists."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def excludes(self) -> bool:
        """Whether a label that is missing meets it."""
        return bool(self.values) if self.complement else not self.values

    def has(self, value: str) -> bool:
        """Whether the label may have the value."""
        return (value in self.values) != self.complement and self._within(value)

    def meets(self, other: Requirement) -> bool:
        """Whether some value is allowed by both."""
        least, most = _larger(self.least, other.least), _smaller(self.most, other.most)
        if least is not None and most is not None and least > most:
            return False
        if self.complement and other.complement:
            return True
        if self.complement:
            left: Iterable[str] = other.values - self.values
        elif other.complement:
            left = self.values - other.values
        else:
            left = self.values & other.values
        return any(within(value, least, most) for value in left)

    def intersection(self, other: Requirement) -> Requirement:
        """What both allow, under this one's key."""
        wanted = _larger(self.min_values, other.min_values)
        least, most = _larger(self.least, other.least), _smaller(self.most, other.most)
        if least is not None and most is not None and least > most:
            return Requirement(self.key, frozenset(), min_values=wanted)
        if self.complement and other.complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if least is not None or most is not None:
            values = frozenset(value for value in values if within(value, least, most))
        if self.complement and other.complement:
            return Requirement(self.key, values, True, least, most, wanted)
        return Requirement(self.key, values, min_values=wanted)

    def written(self) -> list[dict[str, Any]]:
        """The requirement as it stands in a NodeClaim; one with two bounds is two."""
        bounds = [(GTE, self.least), (LTE, self.most)]
        found: list[tuple[str, list[str]]] = [(name, [str(bound)]) for name, bound in bounds if bound is not None]
        found = found or [(self.operator, sorted(self.values))]
        said: dict[str, Any] = {} if self.min_values is None else {"minValues": self.min_values}
        return [
            {"key": self.key, "operator": name} | ({"values": values} if values else {}) | said
            for name, values in found
        ]

    def wanting(self, number: int) -> Requirement:
        """The same with another number of values to choose from."""
        return Requirement(self.key, self.values, self.complement, self.least, self.most, number)

    def __str__(self) -> str:
        operator, text = self.operator, f"{self.key} {self.operator}"
        if operator in (IN, NOT_IN):
            values = sorted(self.values)
            if len(values) > SHOWN:
                values = [*values[:SHOWN], f"and {len(values) - SHOWN} others"]
            text += f" {listed(values)}"
        text += "" if self.least is None else f" >={self.least}"
        text += "" if self.most is None else f" <={self.most}"
        return text + ("" if self.min_values is None else f" minValues {self.min_values}")

    def _within(self, value: str) -> bool:
        return within(value, self.least, self.most)


def requirement(key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
    """A requirement as it is written; one without a number where one is needed counts as 0, as in Karpenter."""
    key, listed_values = NORMALIZED.get(key, key), tuple(values)
    if operator in (IN, NOT_IN):
        return Requirement(key, frozenset(listed_values), operator == NOT_IN, min_values=min_values)
    if operator == DOES_NOT_EXIST:
        return Requirement(key, frozenset(), min_values=min_values)
    least = most = None
    if operator in (GT, LT, GTE, LTE):
        number = parse_int(listed_values[0] if listed_values else "") or 0
        if operator == GT and number == INT64_MAX:
            return Requirement(key, frozenset())
        least = {GT: number + 1, GTE: number}.get(operator)
        most = {LT: number - 1, LTE: number}.get(operator)
    return Requirement(key, frozenset(), True, least, most, min_values)


def anything(key: str) -> Requirement:
    """That the label exists."""
    return Requirement(key, frozenset(), True)


class Requirements(dict[str, Requirement]):
    """Requirements by key, of which each holds."""

    @classmethod
    def of(cls, listed: Iterable[Requirement]) -> Requirements:
        found = cls()
        found.add(listed)
        return found

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> Requirements:
        return cls.of(requirement(key, IN, (value,)) for key, value in labels.items())

    @classmethod
    def of_written(cls, written: Iterable[Written]) -> Requirements:
        return cls.of(requirement(*one) for one in written)

    def copy(self) -> Requirements:
        return Requirements(self)

    def add(self, more: Iterable[Requirement]) -> None:
        """Narrow by further requirements."""
        for one in more:
            known = self.get(one.key)
            if known is None:
                self[one.key] = one
            elif known.min_values is not None or one.min_values is not None or known.rule != one.rule:
                self[one.key] = one.intersection(known)

    def allowed(self, key: str) -> Requirement:
        """What is required of a key; anything where nothing is."""
        return self.get(key) or anything(key)

    def compatible(self, other: Requirements, known: frozenset[str] = frozenset()) -> bool:
        """Whether ``other`` can be met; keys that are not defined here may be asked for only if they are ``known``."""
        for key, wanted in other.items():
            mine = self.get(key)
            if mine is None:
                if key not in known and not wanted.excludes:
                    return False
            elif not mine.meets(wanted) and not (mine.excludes and wanted.excludes):
                return False
        return True

    def conflict(self, other: Requirements, known: frozenset[str] = frozenset()) -> str:
        """Why ``other`` cannot be met, in Karpenter's words; "" where it can."""
        for key in sorted(other):
            if key not in self and key not in known and not other[key].excludes:
                return f"label {quote(key)} does not have known values{self._hint(key, known)}"
        return self.disjoint(other)

    def intersects(self, other: Requirements) -> bool:
        """Whether the keys that both have can be met together."""
        small, large = (self, other) if len(self) <= len(other) else (other, self)
        for key, one in small.items():
            two = large.get(key)
            if two is not None and not one.meets(two) and not (one.excludes and two.excludes):
                return False
        return True

    def disjoint(self, other: Requirements) -> str:
        """Which of the common keys cannot be met, in Karpenter's words; "" where all can."""
        failed = [
            f"key {key}, {other[key]} not in {self[key]}"
            for key in sorted(self.keys() & other.keys())
            if not self[key].meets(other[key]) and not (self[key].excludes and other[key].excludes)
        ]
        return "; ".join(failed)

    @property
    def counted(self) -> list[Requirement]:
        """Those of which a number of values is wanted."""
        return [one for one in self.values() if one.min_values is not None]

    def _hint(self, key: str, known: frozenset[str]) -> str:
        suffix = key.split("/", 1)[-1]
        for names in (known, self):
            for name in sorted(names):
                if key in name or name.endswith(suffix):
                    return f" (typo of {quote(name)}?)"
        return ""

    def __str__(self) -> str:
        return ", ".join(sorted(str(one) for one in self.values() if one.key not in RESTRICTED))


def within(value: str, least: int | None, most: int | None) -> bool:
    """Whether a value is a whole number within bounds; without bounds any is."""
    if least is None and most is None:
        return True
    number = parse_int(value)
    return number is not None and (least is None or number >= least) and (most is None or number <= most)


def _larger(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
