"""Thresholds of the gate: how many pods may move or stay without a node, and limits of measures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Number, Problems, kind
from kschedweb.engine.documents.types import Either, Field, MapOf, Struct
from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.capacity.buffer import LOWEST
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.values import dataclass

ANY = "any"
MOST_MEASURES = 100
AMOUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)[ ]?(%?)")


def whole(number: float) -> float:
    """``number`` as an integer if it is whole."""
    return int(number) if number == int(number) else number


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of pods, points or seconds, or a percentage."""

    number: float
    percent: bool = False

    def of(self, all_of_it: float) -> float:
        """The amount as a number; a percentage is of ``all_of_it``."""
        return abs(all_of_it) * self.number / 100.0 if self.percent else self.number

    @property
    def plain(self) -> float | str:
        """The amount as it is written: a number, or text such as "10%"."""
        return f"{self.number:g}%" if self.percent else whole(self.number)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a measure: its highest and lowest value, and how much worse than under the baseline it may be.

    A measure without a better direction may differ by ``max_change`` either way.
    """

    max: float | None = None
    min: float | None = None
    max_change: Amount | None = None

    def __post_init__(self) -> None:
        if self.max is None and self.min is None and self.max_change is None:
            raise ValueError("must have max, min or maxChange")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ValueError("min must not be above max")

    @property
    def plain(self) -> Json:
        """As it is written."""
        change = None if self.max_change is None else self.max_change.plain
        numbers = {"max": self.max, "min": self.min}
        written: Json = {key: whole(value) for key, value in numbers.items() if value is not None}
        return written | ({} if change is None else {"maxChange": change})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """``None`` is no threshold. ``max_moved`` may be a share of the pods that have a node under both policies,
    ``max_newly_unschedulable`` of all pods that are to be scheduled; ``max_skew_increase`` is in percentage points.
    Pods of at least ``zone_loss_priority`` have to find a node again after the loss of any one zone.
    """

    max_newly_unschedulable: Amount | None = Amount(0.0)
    max_moved: Amount | None = None
    max_pending: float | None = None
    max_skew_increase: float | None = None
    zone_loss_priority: int | None = None
    measures: Mapping[str, Limits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.measures) > MOST_MEASURES:
            raise ValueError(f"measures has {len(self.measures)} entries; at most {MOST_MEASURES} are taken")

    @property
    def plain(self) -> Json:
        """The thresholds as they are written, for ``read``."""
        unschedulable = self.max_newly_unschedulable
        written: Json = {"maxNewlyUnschedulable": ANY if unschedulable is None else unschedulable.plain}
        written |= {} if self.max_moved is None else {"maxMoved": self.max_moved.plain}
        written |= {} if self.max_pending is None else {"maxPending": whole(self.max_pending)}
        written |= {} if self.max_skew_increase is None else {"maxSkewIncrease": whole(self.max_skew_increase)}
        written |= {} if self.zone_loss_priority is None else {"zoneLossPriority": self.zone_loss_priority}
        return written | (
            {"measures": {name: one.plain for name, one in self.measures.items()}} if self.measures else {}
        )


@dataclass(frozen=True, slots=True)
class AmountShape:
    """A number from 0 on, or a percentage such as "10%"."""

    def read(self, raw: Any, path: str, problems: Problems) -> Amount:
        if isinstance(raw, str):
            found = AMOUNT.fullmatch(raw.strip())
            if found is not None:
                return Amount(float(found[1]), bool(found[2]))
            problems.append(
                DocumentProblem(path, f'must be a number from 0 on, or a percentage such as "10%", is {raw[:60]!r}')
            )
        elif isinstance(raw, bool) or not isinstance(raw, int | float):
            problems.append(DocumentProblem(path, f'must be a number, or a percentage such as "10%", is {kind(raw)}'))
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
        Field("max", Number(), "The highest value."),
        Field("min", Number(), "The lowest value."),
        Field(
            "maxChange", AmountShape(), "By how much it may be worse than under the baseline: a number, or such as 10%."
        ),
    ),
    make=Limits,
)
THRESHOLDS = Struct(
    "Thresholds",
    "What a policy is held to.",
    (
        Field(
            "maxNewlyUnschedulable",
            SHARE,
            "Pods that find no node but would under the baseline: a number, a percentage, or any.",
            Amount(0.0),
        ),
        Field("maxMoved", SHARE, "Pods that go to another node: a number, a percentage, or any."),
        Field("maxPending", Either(ANY, Number(0.0, 1e9, whole=True)), "Pods that wait at the end."),
        Field(
            "maxSkewIncrease",
            Either(ANY, Number(0.0, 1e6)),
            "Percentage points by which the skew of CPU and of memory requests at the end may grow.",
        ),
        Field(
            "zoneLossPriority",
            Either(ANY, Number(LOWEST, -LOWEST - 1, whole=True)),
            "Pods of this priority and above find a node again after the loss of any one zone at the end.",
        ),
        Field("measures", MapOf(LIMITS), "Limits of measures by their names.", {}),
    ),
    make=Thresholds,
)


def read(raw: Any, path: str = "thresholds") -> Thresholds:
    """Read the thresholds ``raw``; raises DocumentError with all problems and their paths."""
    problems: list[DocumentProblem] = []
    found = THRESHOLDS.read({} if raw is None else raw, path, problems)
    if problems:
        raise DocumentError(problems)
    assert isinstance(found, Thresholds)
    return found


def number(text: str) -> float | int | str:
    """A limit as written in an option: a number if it is one, else the text."""
    for form in (int, float):
        try:
            return form(text)
        except ValueError:
            continue
    return text
