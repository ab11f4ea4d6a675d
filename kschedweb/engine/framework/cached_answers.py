"""Answers of one extension point's plugins that are the same for all pods of a kind, so that plugins are not asked
again.
"""

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
    CycleState,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
)
from kschedweb.engine.framework.status import SKIP, SUCCESS, Code, Status
from kschedweb.engine.values import dataclass

PluginT = TypeVar("PluginT", bound=Plugin)
Answer = TypeVar("Answer", PreFilterResult, Status)


@dataclass(frozen=True, slots=True)
class PassingPlugins:
    """Consecutive plugins that only pass or skip."""

    # Names of those that skip.
    skipped: set[str] = field(default_factory=set)
    # All that they write into the cycle's state.
    state: CycleState = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CachedAnswer(Generic[PluginT, Answer]):
    """A plugin whose cached answer says more than pass or skip."""

    plugin: PluginT
    answer: Answer
    # The plugin's entries of the cycle's state.
    state: CycleState


@dataclass(frozen=True, slots=True)
class UncachedPlugin(Generic[PluginT, Answer]):
    """A plugin that has to be asked."""

    plugin: PluginT
    ask: Callable[..., Answer]


class CachedAnswers(Generic[PluginT, Answer]):
    """Cached ``answers`` of some of ``plugins`` by name, each with the plugin's entries of the cycle's state.

    ``steps`` are the plugins in their order. Consecutive plugins that are known to pass or skip are one step.
    """

    point: ClassVar[str]
    method: ClassVar[str]

    def __init__(self, plugins: Sequence[PluginT], answers: Mapping[str, tuple[Answer, CycleState]]) -> None:
        self.steps: list[PassingPlugins | CachedAnswer[PluginT, Answer] | UncachedPlugin[PluginT, Answer]] = []
        for plugin in plugins:
            if plugin.name not in answers:
                self.steps.append(UncachedPlugin(plugin, getattr(plugin, self.method)))
                continue
            answer, state = answers[plugin.name]
            if (code := _trivial_code(answer)) is None:
                self.steps.append(CachedAnswer(plugin, answer, state))
                continue
            if not self.steps or not isinstance(last := self.steps[-1], PassingPlugins):
                self.steps.append(last := PassingPlugins())
            last.state.update(state)
            if code is Code.SKIP:
                last.skipped.add(plugin.name)

    def iter_answers(
        self, cycle: Cycle, skipped: set[str], watch: Stopwatch, *more: Any
    ) -> Iterator[tuple[PluginT, Answer]]:
        """Yield the plugins that may do more than pass or skip, in their order, each with its answer.

        Plugins without a cached answer are asked about ``cycle`` and ``more``, measured by ``watch``. Names of those
        that skip are added to ``skipped``.
        """
        for step in self.steps:
            if isinstance(step, UncachedPlugin):
                if watch.by_plugin:
                    answer = watch.measure_call(step.plugin.name, self.point, partial(step.ask, cycle, *more))
                else:
                    answer = step.ask(cycle, *more)
                if answer is SKIPPED or answer is SKIP:
                    skipped.add(step.plugin.name)
                elif answer is not PASSED and answer is not SUCCESS:
                    yield step.plugin, answer
            elif isinstance(step, PassingPlugins):
                skipped |= step.skipped
                cycle.state.update(step.state)
            else:
                cycle.state.update(step.state)
                yield step.plugin, step.answer


class CachedPreFilters(CachedAnswers[PreFilterPlugin, PreFilterResult]):
    point, method = "PreFilter", "pre_filter"


class CachedPreScores(CachedAnswers[PreScorePlugin, Status]):
    point, method = "PreScore", "pre_score"


def _trivial_code(answer: PreFilterResult | Status) -> Code | None:
    """Return Success or Skip; ``None`` for an answer that says more."""
    if isinstance(answer, Status):
        return answer.code if answer.code in (Code.SUCCESS, Code.SKIP) else None
    return None if answer.nodes is not None else _trivial_code(answer.status)
