"""The decision of a scheduling cycle about one pod, as it is shown, stored, and read by Permit plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, NamedTuple, TypeVar

from kschedweb.engine.framework.status import Code, CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

Clock = Callable[[], float]
Answer = TypeVar("Answer")


class PluginCall(NamedTuple):
    """One call of a plugin at an extension point, for all the nodes that it was asked about."""

    plugin: str
    point: str
    # kube-scheduler's status code.
    code: str
    seconds: float


class RankedNode(NamedTuple):
    """One of the best nodes, with its scores."""

    node: str
    # Weighted sum of the scores.
    total: int
    # Weighted score by plugin.
    scores: Mapping[str, int]

    def to_dict(self) -> Json:
        return {"node": self.node, "total": self.total, "scores": dict(self.scores)}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one pod, with the facts that explain it."""

    # ``namespace/name``.
    pod: str
    uid: str
    # Seconds of the epoch.
    time: float
    profile: str
    # Counted from 1.
    attempt: int = 1
    # "" if no node was found.
    node: str = ""
    # Number of nodes that the filters looked at.
    evaluated: int = 0
    # Number of nodes that passed.
    feasible: int = 0
    # Up to five feasible nodes, the chosen one first, then by total. Empty where no scores were needed.
    top: tuple[RankedNode, ...] = ()
    # Difference between the totals of the chosen node and the next best; ``None`` if there was no other node.
    margin: int | None = None
    # Number of equally good nodes among which the node was drawn; 0 if it was not drawn.
    drawn: int = 0
    # Text of the condition PodScheduled, without PostFilter's part.
    message: str = ""
    # Names of the plugins that rejected the pod; empty after an error.
    rejected_by: tuple[str, ...] = ()
    # Seconds by extension point; empty without a clock.
    durations: Mapping[str, float] = field(default_factory=dict)
    # kube-scheduler's status codes of the points that did not end with Success.
    codes: Mapping[str, str] = field(default_factory=dict)
    # PostFilter's part of the message.
    post_filter: str = ""
    # As in Placement: "" ends an earlier nomination, ``None`` leaves it.
    nominated: str | None = None
    # Calls of plugins, in the cycles in which they are measured.
    calls: Sequence[PluginCall] = ()

    def to_dict(self) -> Json:
        """Return the decision as plain data, without the calls."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("top", "calls")}
        plain["top"] = [ranked.to_dict() for ranked in self.top]
        plain["rejected_by"], plain["durations"] = list(self.rejected_by), dict(self.durations)
        plain["codes"] = {point: str(code) for point, code in self.codes.items()}
        return plain


class Stopwatch:
    """A watch that measures seconds by extension point, and records how each point ended.

    Without a clock it measures nothing.
    """

    def __init__(self, clock: Clock | None = None, *, by_plugin: bool = False) -> None:
        self._clock = clock
        # Each call of a plugin is measured, too; kube-scheduler samples these calls, as they are many.
        self.by_plugin = by_plugin and clock is not None
        self.calls: list[PluginCall] = []
        self._since = 0.0
        self.laps: dict[str, float] = {}
        # Status codes of the points that did not end with Success.
        self.codes: dict[str, str] = {}

    def with_same_clock(self) -> Stopwatch:
        """Return a new stopwatch with the same clock."""
        return Stopwatch(self._clock)

    def start(self) -> None:
        """Start over."""
        self.laps, self.codes, self.calls = {}, {}, []
        if self._clock is not None:
            self._since = self._clock()

    def resume(self) -> None:
        """Discard the time since the last lap: it was not spent at an extension point."""
        if self._clock is not None:
            self._since = self._clock()

    def lap(self, point: str, code: Code = Code.SUCCESS) -> None:
        """Add the time since the last lap to ``point``, which ended with ``code``."""
        if self._clock is not None:
            now = self._clock()
            self.laps[point] = self.laps.get(point, 0.0) + now - self._since
            self._since = now
            if code is not Code.SUCCESS:
                self.codes[point] = code

    def measure_call(self, plugin: str, point: str, call: Callable[[], Answer]) -> Answer:
        """Return the answer of ``call``, and record the call with its duration in ``calls``."""
        assert self._clock is not None
        start, code = self._clock(), Code.ERROR
        # The call counts as an error until it has answered, so that an exception is recorded as one.
        try:
            answer = call()
            code = _status_code(answer)
        finally:
            self.calls.append(PluginCall(plugin, point, str(code), self._clock() - start))
        return answer

    def failing(self, point: str) -> Failing:
        """Return a context that ends ``point`` with Error if a CycleError leaves it."""
        return Failing(self, point)


class Failing:
    """The context of ``Stopwatch.failing``.

    A class, because every search enters one and a generator would take longer than most of its body.
    """

    __slots__ = ("_point", "_watch")

    def __init__(self, watch: Stopwatch, point: str) -> None:
        self._watch, self._point = watch, point

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, CycleError):
            self._watch.lap(self._point, Code.ERROR)


def _status_code(answer: Any) -> Code:
    """Return the status code of a plugin's answer. An answer about many nodes has no code of its own and counts as
    Success.
    """
    status = answer[0] if isinstance(answer, tuple) and answer else getattr(answer, "status", answer)
    code: Code = getattr(status, "code", Code.SUCCESS)
    return code


UNTIMED = Stopwatch()
