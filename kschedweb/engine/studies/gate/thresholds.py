"""Thresholds of the gate: how many pods may move or stay without a node, and limits of measures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Number, Problems, describe_kind
from kschedweb.engine.documents.types import Either, MapType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.buffer import LOWEST_PRIORITY
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.values import dataclass

# Means in a document: no threshold.
ANY = "any"
MOST_MEASURES = 100
# A number, perhaps with a percent sign. It is short enough to be exact as a float.
AMOUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)[ ]?(%?)")


def as_integer(number: float) -> float:
    """Return ``number`` as an integer if it is whole."""
    return int(number) if number == int(number) else number


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of pods, points or seconds, or a percentage."""

    number: float
    percent: bool = False

    def value_of(self, total: float) -> float:
        """Return the amount as a number; a percentage is taken of ``total``."""
        return abs(total) * self.number / 100.0 if self.percent else self.number

    @property
    def plain(self) -> float | str:
        """The amount in the form of a document: a number, or text such as "10%"."""
        return f"{self.number:g}%" if self.percent else as_integer(self.number)


@dataclass(frozen=True, slots=True)
class MeasureLimits:
    """Limits of a measure."""

    # Highest and lowest value.
    max: float | None = None
    min: float | None = None
    # How much worse it may be than under the baseline. Without a better direction, it may differ by this either way.
    max_change: Amount | None = None

    def __post_init__(self) -> None:
        if self.max is None and self.min is None and self.max_change is None:
            raise ValueError("must have max, min or maxChange")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ValueError("min must not be above max")

    @property
    def plain(self) -> Json:
        """The limits in the form of a document."""
        change = None if self.max_change is None else self.max_change.plain
        numbers = {"max": self.max, "min": self.min}
        plain_limits: Json = {key: as_integer(value) for key, value in numbers.items() if value is not None}
        return plain_limits | ({} if change is None else {"maxChange": change})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of a gate; ``None`` is no threshold."""

    # Pods that find no node only under the policy. A percentage is of all pods to schedule.
    max_newly_unschedulable: Amount | None = Amount(0.0)
    # Pods on another node. A percentage is of pods with a node under both policies.
    max_moved: Amount | None = None
    # Pods that wait at the end.
    max_pending: float | None = None
    # Percentage points, of CPU and of memory requests at the end.
    max_skew_increase: float | None = None
    # Pods of at least this priority must find a node again after the loss of any one zone.
    zone_loss_priority: int | None = None
    # Limits by name of the measure.
    measures: Mapping[str, MeasureLimits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.measures) > MOST_MEASURES:
            raise ValueError(f"measures has {len(self.measures)} entries; at most {MOST_MEASURES} are taken")

    @property
    def plain(self) -> Json:
        """The thresholds in the form of a document, for ``read_thresholds``."""
        unschedulable = self.max_newly_unschedulable
        plain_thresholds: Json = {"maxNewlyUnschedulable": ANY if unschedulable is None else unschedulable.plain}
        plain_thresholds |= {} if self.max_moved is None else {"maxMoved": self.max_moved.plain}
        plain_thresholds |= {} if self.max_pending is None else {"maxPending": as_integer(self.max_pending)}
        plain_thresholds |= (
            {} if self.max_skew_increase is None else {"maxSkewIncrease": as_integer(self.max_skew_increase)}
        )
        plain_thresholds |= {} if self.zone_loss_priority is None else {"zoneLossPriority": self.zone_loss_priority}
        return plain_thresholds | (
            {"measures": {name: limits.plain for name, limits in self.measures.items()}} if self.measures else {}
        )


@dataclass(frozen=True, slots=True)
class AmountShape:
    """A number from 0 on, or a percentage such as "10%"."""

    def read(self, raw: Any, path: str, problems: Problems) -> Amount:
        if isinstance(raw, str):
            match = AMOUNT.fullmatch(raw.strip())
            if match is not None:
                return Amount(float(match[1]), bool(match[2]))
            problems.append(
                DocumentProblem(path, f'must be a number from 0 on, or a percentage such as "10%", is {raw[:60]!r}')
            )
        elif isinstance(raw, bool) or not isinstance(raw, int | float):
            problems.append(
                DocumentProblem(path, f'must be a number, or a percentage such as "10%", is {describe_kind(raw)}')
            )
        else:
            return Amount(float(Number(0.0, 1e12).read(raw, path, problems)))
        return Amount(0.0)

    def schema(self) -> Json:
        number = {"type": "number", "minimum": 0, "maximum": 1e12}
        return {"anyOf": [number, {"type": "string", "pattern": f"^\\s*{AMOUNT.pattern}\\s*$"}]}


SHARE = Either(ANY, AmountShape())
LIMITS = Struct(
    "Limits",
    "Limits of one measure.",
    (
        StructField("max", Number(), "The highest value."),
        StructField("min", Number(), "The lowest value."),
        StructField(
            "maxChange", AmountShape(), "By how much it may be worse than under the baseline: a number, or such as 10%."
        ),
    ),
    make=MeasureLimits,
)
THRESHOLDS = Struct(
    "Thresholds",
    "What a policy is held to.",
    (
        StructField(
            "maxNewlyUnschedulable",
            SHARE,
            "Pods that find no node but would under the baseline: a number, a percentage, or any.",
            Amount(0.0),
        ),
        StructField("maxMoved", SHARE, "Pods that go to another node: a number, a percentage, or any."),
        StructField("maxPending", Either(ANY, Number(0.0, 1e9, whole=True)), "Pods still waiting at the end."),
        StructField(
            "maxSkewIncrease",
            Either(ANY, Number(0.0, 1e6)),
            "Percentage points by which the skew of CPU and of memory requests at the end may grow.",
        ),
        StructField(
            "zoneLossPriority",
            Either(ANY, Number(LOWEST_PRIORITY, -LOWEST_PRIORITY - 1, whole=True)),
            "Pods of this priority and above find a node again after the loss of any one zone at the end.",
        ),
        StructField("measures", MapType(LIMITS), "Limits of measures by their names.", {}),
    ),
    make=Thresholds,
)


def read_thresholds(raw: Any, path: str = "thresholds") -> Thresholds:
    """Read the thresholds ``raw``; raise DocumentError with all problems and their paths."""
    problems: list[DocumentProblem] = []
    thresholds = THRESHOLDS.read({} if raw is None else raw, path, problems)
    if problems:
        raise ScenarioError(problems)
    assert isinstance(thresholds, Thresholds)
    return thresholds


def parse_number(text: str) -> float | int | str:
    """Return a limit as an option has it: a number if it is one, else the text."""
    for form in (int, float):
        try:
            return form(text)
        except ValueError:
            continue
    return text
