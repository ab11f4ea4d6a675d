"""Karpenter's algebra of label requirements: which values they allow, and if two are compatible."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from kschedweb.engine.autoscaling.offers.labels import NORMALIZED, RESTRICTED, format_list
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.validation.golang import INT64_MAX, quote

IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "In", "NotIn", "Exists", "DoesNotExist"
GT, LT, GTE, LTE = "Gt", "Lt", "Gte", "Lte"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT, GTE, LTE)
# The most values of a requirement that a message lists.
MAX_SHOWN_VALUES = 5
# A requirement as written: key, operator, values.
WrittenRequirement = tuple[str, str, tuple[str, ...]]


class Requirement:
    """The values that a label may have: ``values``, or with ``complement`` all but those.

    ``gte`` and ``lte`` bound integers. ``min_values`` is the number of values that must remain to choose from. Only it
    may change, and it does so for all that share the requirement, as in Karpenter.
    """

    __slots__ = ("complement", "gte", "key", "lte", "min_values", "values")

    def __init__(
        self,
        key: str,
        values: frozenset[str],
        complement: bool = False,
        gte: int | None = None,
        lte: int | None = None,
        min_values: int | None = None,
    ) -> None:
        self.key, self.values, self.complement = key, values, complement
        self.gte, self.lte, self.min_values = gte, lte, min_values

    @property
    def rule(self) -> Hashable:
        """A key that is equal for requirements that allow the same values."""
        return self.key, self.values, self.complement, self.gte, self.lte

    @property
    def operator(self) -> str:
        """One of In, NotIn, Exists and DoesNotExist; bounds count as Exists."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def excludes(self) -> bool:
        """True if a missing label meets the requirement."""
        return bool(self.values) if self.complement else not self.values

    def has(self, value: str) -> bool:
        """Return whether the label may have the value."""
        return (value in self.values) != self.complement and self._is_within_bounds(value)

    def has_intersection(self, other: Requirement) -> bool:
        """Return whether a value is allowed by both."""
        gte, lte = _max_optional(self.gte, other.gte), _min_optional(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        # Two complements leave infinitely many values; bounds are not counted here, as in Karpenter.
        if self.complement and other.complement:
            return True
        if self.complement:
            values: Iterable[str] = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        return any(is_within_bounds(value, gte, lte) for value in values)

    def intersection(self, other: Requirement) -> Requirement:
        """Return the values that both allow, under this requirement's key."""
        min_values = _max_optional(self.min_values, other.min_values)
        gte, lte = _max_optional(self.gte, other.gte), _min_optional(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, frozenset(), min_values=min_values)
        if self.complement and other.complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if gte is not None or lte is not None:
            values = frozenset(value for value in values if is_within_bounds(value, gte, lte))
        if self.complement and other.complement:
            return Requirement(self.key, values, True, gte, lte, min_values)
        return Requirement(self.key, values, min_values=min_values)

    def to_node_selector(self) -> list[Json]:
        """Return the requirement as NodeClaims have it; one with two bounds becomes two expressions."""
        bounds = [(GTE, self.gte), (LTE, self.lte)]
        expressions: list[tuple[str, list[str]]] = [(name, [str(bound)]) for name, bound in bounds if bound is not None]
        expressions = expressions or [(self.operator, sorted(self.values))]
        extra: Json = {} if self.min_values is None else {"minValues": self.min_values}
        return [
            {"key": self.key, "operator": name} | ({"values": values} if values else {}) | extra
            for name, values in expressions
        ]

    def with_min_values(self, number: int) -> Requirement:
        """Return a copy with another minValues."""
        return Requirement(self.key, self.values, self.complement, self.gte, self.lte, number)

    def __str__(self) -> str:
        operator, text = self.operator, f"{self.key} {self.operator}"
        if operator in (IN, NOT_IN):
            values = sorted(self.values)
            if len(values) > MAX_SHOWN_VALUES:
                values = [*values[:MAX_SHOWN_VALUES], f"and {len(values) - MAX_SHOWN_VALUES} others"]
            text += f" {format_list(values)}"
        text += "" if self.gte is None else f" >={self.gte}"
        text += "" if self.lte is None else f" <={self.lte}"
        return text + ("" if self.min_values is None else f" minValues {self.min_values}")

    def _is_within_bounds(self, value: str) -> bool:
        return is_within_bounds(value, self.gte, self.lte)


def new_requirement(key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
    """Create a requirement as written; a bound that is not a number counts as 0, as in Karpenter."""
    key, listed_values = NORMALIZED.get(key, key), tuple(values)
    if operator in (IN, NOT_IN):
        return Requirement(key, frozenset(listed_values), operator == NOT_IN, min_values=min_values)
    if operator == DOES_NOT_EXIST:
        return Requirement(key, frozenset(), min_values=min_values)
    gte = lte = None
    if operator in (GT, LT, GTE, LTE):
        number = parse_int(listed_values[0] if listed_values else "") or 0
        # Nothing is greater than the largest int64, and adding 1 would overflow in Go.
        if operator == GT and number == INT64_MAX:
            return Requirement(key, frozenset())
        gte = {GT: number + 1, GTE: number}.get(operator)
        lte = {LT: number - 1, LTE: number}.get(operator)
    return Requirement(key, frozenset(), True, gte, lte, min_values)


def new_exists_requirement(key: str) -> Requirement:
    """Create the requirement that the label exists."""
    return Requirement(key, frozenset(), True)


class Requirements(dict[str, Requirement]):
    """Requirements by key, all of which must hold."""

    @classmethod
    def from_requirements(cls, listed: Iterable[Requirement]) -> Requirements:
        requirements = cls()
        requirements.add(listed)
        return requirements

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> Requirements:
        return cls.from_requirements(new_requirement(key, IN, (value,)) for key, value in labels.items())

    @classmethod
    def of_written(cls, expressions: Iterable[WrittenRequirement]) -> Requirements:
        return cls.from_requirements(new_requirement(*expression) for expression in expressions)

    def copy(self) -> Requirements:
        return Requirements(self)

    def add(self, more: Iterable[Requirement]) -> None:
        """Narrow by further requirements."""
        for requirement in more:
            existing = self.get(requirement.key)
            if existing is None:
                self[requirement.key] = requirement
            # Equal rules need no new object; keeping it makes the caches by rule hit more often.
            elif (
                existing.min_values is not None
                or requirement.min_values is not None
                or existing.rule != requirement.rule
            ):
                self[requirement.key] = requirement.intersection(existing)

    def requirement_for(self, key: str) -> Requirement:
        """Return the requirement on a key; any value is allowed if there is none."""
        return self.get(key) or new_exists_requirement(key)

    def is_compatible(self, other: Requirements, allow_undefined: frozenset[str] = frozenset()) -> bool:
        """Return whether ``other`` can be met.

        Keys that are undefined here may be required only if they are in ``allow_undefined``.
        """
        for key, requirement in other.items():
            mine = self.get(key)
            if mine is None:
                if key not in allow_undefined and not requirement.excludes:
                    return False
            elif not mine.has_intersection(requirement) and not (mine.excludes and requirement.excludes):
                return False
        return True

    def find_conflict(self, other: Requirements, allow_undefined: frozenset[str] = frozenset()) -> str:
        """Return why ``other`` cannot be met, in Karpenter's words; "" if it can."""
        for key in sorted(other):
            if key not in self and key not in allow_undefined and not other[key].excludes:
                return f"label {quote(key)} does not have known values{self._hint_typo(key, allow_undefined)}"
        return self.find_disjoint(other)

    def intersects(self, other: Requirements) -> bool:
        """Return whether the common keys can be met together."""
        small, large = (self, other) if len(self) <= len(other) else (other, self)
        for key, requirement in small.items():
            two = large.get(key)
            if (
                two is not None
                and not requirement.has_intersection(two)
                and not (requirement.excludes and two.excludes)
            ):
                return False
        return True

    def find_disjoint(self, other: Requirements) -> str:
        """Return which of the common keys cannot be met, in Karpenter's words; "" if all can."""
        failed = [
            f"key {key}, {other[key]} not in {self[key]}"
            for key in sorted(self.keys() & other.keys())
            if not self[key].has_intersection(other[key]) and not (self[key].excludes and other[key].excludes)
        ]
        return "; ".join(failed)

    @property
    def min_value_requirements(self) -> list[Requirement]:
        """The requirements with minValues."""
        return [requirement for requirement in self.values() if requirement.min_values is not None]

    def _hint_typo(self, key: str, allow_undefined: frozenset[str]) -> str:
        suffix = key.split("/", 1)[-1]
        for names in (allow_undefined, self):
            for name in sorted(names):
                if key in name or name.endswith(suffix):
                    return f" (typo of {quote(name)}?)"
        return ""

    def __str__(self) -> str:
        return ", ".join(sorted(str(requirement) for requirement in self.values() if requirement.key not in RESTRICTED))


def is_within_bounds(value: str, gte: int | None, lte: int | None) -> bool:
    """Return whether a value is an integer within bounds; without bounds, any value is."""
    if gte is None and lte is None:
        return True
    number = parse_int(value)
    return number is not None and (gte is None or number >= gte) and (lte is None or number <= lte)


def _max_optional(first: int | None, other: int | None) -> int | None:
    return other if first is None else first if other is None else max(first, other)


def _min_optional(first: int | None, other: int | None) -> int | None:
    return other if first is None else first if other is None else min(first, other)
