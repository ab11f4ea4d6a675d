"""What a plugin answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any

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


OUTSIDE = "outside the simulation: "
REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A code, the reasons for it in the scheduler's words, and the plugin that gave it.

    ``facts`` names for each reason what was lacking, in terms of the plugin: a resource, a metric, a rule. Each is a
    string or a plain tuple, since decisions are kept as JSON. It is empty if the plugin tells no more than the reasons,
    and in decisions that were kept before plugins told more. Presenters make plain words of it. Not ``simulated``:
    kube-scheduler's own answer lies outside the simulation, and the reason says what it depends on.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    simulated: bool = True
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
        """As the runtime passes it on: an error says which filter failed."""
        if self.code is not Code.ERROR or not self.simulated:
            return self
        return replace(self, reasons=(f'running "{self.plugin}" filter plugin: {self.message}',))

    @property
    def cycle_error(self) -> CycleError:
        """The error with which this ends a cycle."""
        return CycleError(self.decisive.message) if self.simulated else OutsideError(self)

    def with_plugin(self, plugin: str) -> Status:
        return self if self.plugin == plugin else Status(self.code, self.reasons, plugin, self.simulated, self.facts)

    @property
    def detailed_reasons(self) -> list[tuple[str, Any]]:
        """Each reason with what it is about, ``None`` where the plugin does not say."""
        return list(zip_longest(self.reasons, self.facts))

    def to_dict(self, *, plugin: bool = True) -> dict[str, Any]:
        result: dict[str, Any] = {"plugin": self.plugin} if plugin and self.plugin else {}
        result["code"] = str(self.code)
        if self.reasons:
            result["reasons"] = list(self.reasons)
        return result


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str, fact: Any = None) -> Status:
    """``fact`` is for a single reason."""
    return Status(Code.UNSCHEDULABLE, reasons, facts=() if fact is None else (fact,))


def unresolvable(*reasons: str, fact: Any = None) -> Status:
    """``fact`` is for a single reason."""
    return Status(Code.UNRESOLVABLE, reasons, facts=() if fact is None else (fact,))


def error(reason: str) -> Status:
    return Status(Code.ERROR, (reason,))


def outside_simulation(reason: str) -> Status:
    """An error that is not kube-scheduler's: its answer depends on something not simulated, named by ``about``."""
    return Status(Code.ERROR, (f"{OUTSIDE}{reason}",), simulated=False, facts=(reason,))


class CycleError(Exception):
    """The scheduling cycle cannot go on; the text is kube-scheduler's error."""


class OutsideError(CycleError):
    """``plugin`` says that the answer about the pod lies outside the simulation."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.plugin = status.plugin


def fit_error(nodes: int, histogram: Iterable[tuple[str, int]], pre_filter: str = "", post_filter: str = "") -> str:
    """The text of kube-scheduler's FitError.

    ``histogram`` holds (reason, number of nodes); ``pre_filter`` takes its place where PreFilter rejected the pod.
    """
    text = f"0/{nodes} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    else:
        parts = sorted(f"{count} {reason}" for reason, count in histogram if count)
        if parts:
            text += f" {', '.join(parts)}."
    return f"{text} {post_filter}" if post_filter else text
