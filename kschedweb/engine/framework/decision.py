"""What a scheduling cycle decided about one pod, as it is shown, stored, and read by Permit plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, NamedTuple, TypeVar

from kschedweb.engine.framework.status import Code, CycleError
from kschedweb.engine.values import dataclass

Clock = Callable[[], float]
Answer = TypeVar("Answer")


class PluginCall(NamedTuple):
    """One call of a plugin at an extension point, about all nodes that it was asked about, in seconds."""

    plugin: str
    point: str
    code: str
    seconds: float


class RankedNode(NamedTuple):
    """One of the best nodes: the total of its scores, and what each plugin (weighted) adds to it."""

    node: str
    total: int
    scores: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"node": self.node, "total": self.total, "scores": dict(self.scores)}


@dataclass(frozen=True, slots=True)
class Decision:
    """``pod`` is ``namespace/name``, ``node`` "" where none was found; ``time`` is seconds of the epoch.

    ``evaluated`` and ``feasible`` are numbers of nodes. ``top`` holds up to five feasible nodes, the chosen one first,
    then by total; it is empty where no scores were needed. ``margin`` is by how much the chosen node's total is above
    the next best, ``None`` where there was no other to compare with; ``drawn`` is among how many equally good nodes it
    was drawn, 0 where it was not. ``message`` is what the condition PodScheduled
    says, PostFilter's part of it in ``post_filter``; ``rejected_by`` names the plugins that said no, none after an
    error. ``durations`` are seconds by extension point, empty where no clock was given; ``codes`` are kube-scheduler's
    status codes of those points that did not end with Success. ``nominated`` is as in Placement: "" ends an earlier
    nomination, ``None`` leaves it. ``calls`` are those of plugins, in the cycles in which they are measured.
    """

    pod: str
    uid: str
    time: float
    profile: str
    attempt: int = 1
    node: str = ""
    evaluated: int = 0
    feasible: int = 0
    top: tuple[RankedNode, ...] = ()
    margin: int | None = None
    drawn: int = 0
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    post_filter: str = ""
    nominated: str | None = None
    calls: Sequence[PluginCall] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without the calls."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("top", "calls")}
        plain["top"] = [ranked.to_dict() for ranked in self.top]
        plain["rejected_by"], plain["durations"] = list(self.rejected_by), dict(self.durations)
        plain["codes"] = {point: str(code) for point, code in self.codes.items()}
        return plain


class Stopwatch:
    """Seconds by extension point since ``start``, and how each ended; without a clock it measures nothing.

    ``codes`` holds the status code of each point that did not end with Success. ``by_plugin``: each call of a plugin is
    measured, too.
    """

    def __init__(self, clock: Clock | None = None, *, by_plugin: bool = False) -> None:
        self._clock = clock
        self.by_plugin = by_plugin and clock is not None
        self.calls: list[PluginCall] = []
        self._since = 0.0
        self.laps: dict[str, float] = {}
        self.codes: dict[str, str] = {}

    def another(self) -> Stopwatch:
        """One of its own by the same clock."""
        return Stopwatch(self._clock)

    def start(self) -> None:
        """Begin anew."""
        self.laps, self.codes, self.calls = {}, {}, []
        if self._clock is not None:
            self._since = self._clock()

    def resume(self) -> None:
        """What passed since the last lap was spent on something else."""
        if self._clock is not None:
            self._since = self._clock()

    def lap(self, point: str, code: Code = Code.SUCCESS) -> None:
        """What passed since the last lap was spent at ``point``, which ended with ``code``."""
        if self._clock is not None:
            now = self._clock()
            self.laps[point] = self.laps.get(point, 0.0) + now - self._since
            self._since = now
            if code is not Code.SUCCESS:
                self.codes[point] = code

    def measure_call(self, plugin: str, point: str, call: Callable[[], Answer]) -> Answer:
        """What ``call`` answers, with the time it takes as one of the ``calls``."""
        assert self._clock is not None
        start, code = self._clock(), Code.ERROR
        try:
            answer = call()
            code = _status_code(answer)
        finally:
            self.calls.append(PluginCall(plugin, point, str(code), self._clock() - start))
        return answer

    def failing(self, point: str) -> Failing:
        """A context that an error ends, and ``point`` with it."""
        return Failing(self, point)


class Failing:
    """See ``Stopwatch.failing``. Each search enters one; a generator would take longer than most of what is in it."""

    __slots__ = ("_point", "_watch")

    def __init__(self, watch: Stopwatch, point: str) -> None:
        self._watch, self._point = watch, point

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, CycleError):
            self._watch.lap(self._point, Code.ERROR)


def _status_code(answer: Any) -> Code:
    """The status code of what a plugin answers; one about many nodes has none of its own."""
    status = answer[0] if isinstance(answer, tuple) and answer else getattr(answer, "status", answer)
    code: Code = getattr(status, "code", Code.SUCCESS)
    return code


UNTIMED = Stopwatch()
