"""What plugins of one extension point say of all pods of a kind: they are not asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.interface import (
    PASSED,
    SKIPPED,
    Cycle,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
)
from kschedweb.engine.framework.status import SKIP, SUCCESS, Code, Status
from kschedweb.engine.values import dataclass

Asked = TypeVar("Asked", bound=Plugin)
Answer = TypeVar("Answer", PreFilterResult, Status)


@dataclass(frozen=True, slots=True)
class Passed:
    """Plugins in a row that only pass or skip: the names of the latter, and what all of them write."""

    skipped: set[str] = field(default_factory=set)
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told(Generic[Asked, Answer]):
    """A plugin that says more, and what it writes."""

    plugin: Asked
    answer: Answer
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unknown(Generic[Asked, Answer]):
    """A plugin that has to be asked, and how."""

    plugin: Asked
    ask: Callable[..., Answer]


class Known(Generic[Asked, Answer]):
    """``answers`` of some of ``plugins`` by name, each with what the plugin writes into the cycle's state.

    ``steps`` are the plugins in their order, where those in a row that are known to pass or skip are one step.
    """

    point: ClassVar[str]
    method: ClassVar[str]

    def __init__(self, plugins: Sequence[Asked], answers: Mapping[str, tuple[Answer, dict[str, Any]]]) -> None:
        self.steps: list[Passed | Told[Asked, Answer] | Unknown[Asked, Answer]] = []
        for plugin in plugins:
            if plugin.name not in answers:
                self.steps.append(Unknown(plugin, getattr(plugin, self.method)))
                continue
            answer, state = answers[plugin.name]
            if (code := _plain(answer)) is None:
                self.steps.append(Told(plugin, answer, state))
                continue
            if not self.steps or not isinstance(last := self.steps[-1], Passed):
                self.steps.append(last := Passed())
            last.state.update(state)
            if code is Code.SKIP:
                last.skipped.add(plugin.name)

    def answered(self, cycle: Cycle, skipped: set[str], watch: Stopwatch, *more: Any) -> Iterator[tuple[Asked, Answer]]:
        """The plugins that may say more than that they pass or skip, one after the other, each with its answer.

        Those that are not known are asked about ``cycle`` and ``more``, measured by ``watch``. Names of those that skip
        are added to ``skipped``.
        """
        for step in self.steps:
            if isinstance(step, Unknown):
                if watch.by_plugin:
                    answer = watch.measured(step.plugin.name, self.point, partial(step.ask, cycle, *more))
                else:
                    answer = step.ask(cycle, *more)
                if answer is SKIPPED or answer is SKIP:
                    skipped.add(step.plugin.name)
                elif answer is not PASSED and answer is not SUCCESS:
                    yield step.plugin, answer
            elif isinstance(step, Passed):
                skipped |= step.skipped
                cycle.state.update(step.state)
            else:
                cycle.state.update(step.state)
                yield step.plugin, step.answer


class KnownPreFilters(Known[PreFilterPlugin, PreFilterResult]):
    point, method = "PreFilter", "pre_filter"


class KnownPreScores(Known[PreScorePlugin, Status]):
    point, method = "PreScore", "pre_score"


def _plain(answer: PreFilterResult | Status) -> Code | None:
    """Success or Skip, ``None`` for an answer that says more."""
    if isinstance(answer, Status):
        return answer.code if answer.code in (Code.SUCCESS, Code.SKIP) else None
    return None if answer.nodes is not None else _plain(answer.status)
