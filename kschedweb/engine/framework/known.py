"""What plugins of one extension point say of all pods of a kind: they are not asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from kschedweb.engine.framework.interface import Cycle, Plugin, PreFilterPlugin, PreFilterResult, PreScorePlugin
from kschedweb.engine.framework.status import Code, Status
from kschedweb.engine.values import dataclass

Asked = TypeVar("Asked", bound=Plugin)
Answer = TypeVar("Answer", PreFilterResult, Status)


@dataclass(frozen=True, slots=True)
class Passed:
    """Plugins in a row that only pass or skip: the names of the latter, and what all of them write."""

    skipped: set[str] = field(default_factory=set)
    state: dict[str, Any] = field(default_factory=dict)


class Known(Generic[Asked, Answer]):
    """``answers`` of some of ``plugins`` by name, each with what the plugin writes into the cycle's state.

    ``steps`` are the plugins in their order, where those in a row that are known to pass or skip are one step.
    """

    def __init__(self, plugins: Sequence[Asked], answers: Mapping[str, tuple[Answer, dict[str, Any]]]) -> None:
        self.answers: Mapping[str, tuple[Answer, dict[str, Any]]] = answers
        self.steps: list[Asked | Passed] = []
        for plugin in plugins:
            answer, state = answers.get(plugin.name, (None, {}))
            code = None if answer is None else _plain(answer)
            if code is None:
                self.steps.append(plugin)
                continue
            if not self.steps or not isinstance(last := self.steps[-1], Passed):
                self.steps.append(last := Passed())
            last.state.update(state)
            if code is Code.SKIP:
                last.skipped.add(plugin.name)

    def answered(
        self, cycle: Cycle, skipped: set[str], ask: Callable[[Asked], Answer]
    ) -> Iterator[tuple[Asked, Answer]]:
        """The plugins that may say more than that they pass or skip, one after the other, each with its answer.

        ``ask`` gets the answers that are not known. Names of those that are known to skip are added to ``skipped``.
        """
        for step in self.steps:
            if isinstance(step, Passed):
                skipped |= step.skipped
                cycle.state.update(step.state)
            elif step.name in self.answers:
                answer, state = self.answers[step.name]
                cycle.state.update(state)
                yield step, answer
            else:
                yield step, ask(step)


def _plain(answer: PreFilterResult | Status) -> Code | None:
    """Success or Skip, ``None`` for an answer that says more."""
    if isinstance(answer, Status):
        return answer.code if answer.code in (Code.SUCCESS, Code.SKIP) else None
    return None if answer.nodes is not None else _plain(answer.status)


KnownPreFilters = Known[PreFilterPlugin, PreFilterResult]
KnownPreScores = Known[PreScorePlugin, Status]
