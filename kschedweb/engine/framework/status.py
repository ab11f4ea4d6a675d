"""The statuses with which plugins answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass


class Code(StrEnum):
    """kube-scheduler's status codes, by its own names."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"


# Begins the reasons of every status that is not simulated; presenters recognise it.
OUTSIDE = "outside the simulation: "
# The codes of `Status.IsRejected`.
REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A code, the reasons for it in the scheduler's words, and the plugin that gave it."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    # False if kube-scheduler's own answer lies outside the simulation; the reason names what it depends on.
    simulated: bool = True
    # What was lacking, for each reason: a resource, a metric, a rule, as a string or a plain tuple, because decisions
    # are kept as JSON. Presenters turn it into text. Empty if the plugin gives reasons only, and in older stored
    # decisions.
    facts: tuple[Any, ...] = ()

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_rejected(self) -> bool:
        return self.code in REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def decisive(self) -> Status:
        """The status as the runtime passes it on: an error names the filter that failed."""
        if self.code is not Code.ERROR or not self.simulated:
            return self
        return replace(self, reasons=(f'running "{self.plugin}" filter plugin: {self.message}',))

    @property
    def cycle_error(self) -> CycleError:
        """The exception with which this status ends a cycle."""
        return CycleError(self.decisive.message) if self.simulated else OutsideError(self)

    def with_plugin(self, plugin: str) -> Status:
        return self if self.plugin == plugin else Status(self.code, self.reasons, plugin, self.simulated, self.facts)

    @property
    def detailed_reasons(self) -> list[tuple[str, Any]]:
        """Each reason with its fact; ``None`` where the plugin gives no fact."""
        return list(zip_longest(self.reasons, self.facts))

    def to_dict(self, *, plugin: bool = True) -> Json:
        result: Json = {"plugin": self.plugin} if plugin and self.plugin else {}
        result["code"] = str(self.code)
        if self.reasons:
            result["reasons"] = list(self.reasons)
        return result


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str, fact: Any = None) -> Status:
    """Return an Unschedulable status. ``fact`` belongs to a single reason."""
    return Status(Code.UNSCHEDULABLE, reasons, facts=() if fact is None else (fact,))


def unresolvable(*reasons: str, fact: Any = None) -> Status:
    """Return an UnschedulableAndUnresolvable status. ``fact`` belongs to a single reason."""
    return Status(Code.UNRESOLVABLE, reasons, facts=() if fact is None else (fact,))


def error(reason: str) -> Status:
    return Status(Code.ERROR, (reason,))


def outside_simulation(reason: str) -> Status:
    """Return an error that is not kube-scheduler's: its answer depends on ``reason``, which is not simulated."""
    return Status(Code.ERROR, (f"{OUTSIDE}{reason}",), simulated=False, facts=(reason,))


class CycleError(Exception):
    """The scheduling cycle cannot go on; the text is kube-scheduler's error."""


class OutsideError(CycleError):
    """A plugin's answer about the pod lies outside the simulation."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.plugin = status.plugin


def fit_error(nodes: int, histogram: Iterable[tuple[str, int]], pre_filter: str = "", post_filter: str = "") -> str:
    """Return the text of kube-scheduler's FitError.

    ``histogram`` holds (reason, number of nodes). ``pre_filter`` takes its place where PreFilter rejected the pod.
    """
    text = f"0/{nodes} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    else:
        # Sorted as text, so "10 x" comes before "2 x", as in `FitError.Error`.
        parts = sorted(f"{count} {reason}" for reason, count in histogram if count)
        if parts:
            text += f" {', '.join(parts)}."
    return f"{text} {post_filter}" if post_filter else text
