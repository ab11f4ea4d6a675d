"""Values of measures of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

# Directions: which value is better.
LOWER, HIGHER, NEITHER = "lower", "higher", ""
# Units. "points" are percentage points.
PODS, NODES, SECONDS, POINTS, PERCENT, NODE_HOURS = "pods", "nodes", "s", "points", "%", "node-hours"
MONEY, PODS_AN_HOUR, BUDGETS, CHANGES, JOBS = "money", "pods an hour", "budgets", "changes", "jobs"


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """A measure of a run, with its value."""

    name: str
    label: str
    # None if there is nothing to measure.
    value: float | None
    unit: str
    # Which value is better: LOWER, HIGHER or NEITHER.
    direction: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a run, the most important group first."""

    listed: tuple[RunMeasure, ...]

    def __iter__(self) -> Iterator[RunMeasure]:
        return iter(self.listed)

    def __getitem__(self, name: str) -> RunMeasure:
        for measure in self.listed:
            if measure.name == name:
                return measure
        raise KeyError(name)

    def to_dict(self) -> Json:
        """Return plain data by name, in order."""
        return {
            measure.name: {key: value for key, value in asdict(measure).items() if key != "name"}
            for measure in self.listed
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Json]) -> Measures:
        """Restore measures from the data of ``to_dict``."""
        return cls(tuple(RunMeasure(name=name, **attributes) for name, attributes in plain.items()))
