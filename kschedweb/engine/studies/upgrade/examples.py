"""Compare the answers of two releases to the scenario of a change."""

from __future__ import annotations

import json
from dataclasses import field

from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES, cli_validate
from kschedweb.engine.releases.changes import release_before
from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, SCORES, VICTIMS, ReleaseChange
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class ReleaseAnswer:
    """The answer of a release on the pod that waits, or on the configuration if there is no pod."""

    release: str
    # The node; "" if none fits.
    node: str = ""
    # The reason why none fits.
    message: str = ""
    # Pods that would be evicted.
    victims: tuple[str, ...] = ()
    # Weighted points by plugin and node.
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    # Total points by node.
    total: dict[str, int] = field(default_factory=dict)
    # Plugin and reasons by node.
    rejected: dict[str, str] = field(default_factory=dict)
    # Errors of the configuration.
    errors: tuple[str, ...] = ()
    # The configuration after defaulting; None if it has errors.
    defaulted: Json | None = None

    def to_dict(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__ if name != "defaulted"}


@dataclass(frozen=True, slots=True)
class ChangeExample:
    """A change with both answers; ``None`` if it has no scenario."""

    change: ReleaseChange
    before: ReleaseAnswer | None
    after: ReleaseAnswer | None

    @property
    def differs(self) -> frozenset[str]:
        """The parts of the answers that differ, of ``SHOWN``."""
        return frozenset() if self.before is None or self.after is None else _find_differences(self.before, self.after)

    @property
    def summary(self) -> str:
        """The two answers in a sentence each."""
        first, second = self.before, self.after
        if first is None or second is None:
            return ""
        return " ".join(f"{answer.release}: {_describe_answer(self.change, answer)}" for answer in (first, second))


def compare_answers(change: ReleaseChange) -> ChangeExample:
    """Return the answers of the release that has ``change``, and of the one before it."""
    if change.scenario is None:
        return ChangeExample(change, None, None)
    return ChangeExample(change, answer_change(change, release_before(change)), answer_change(change, change.since))


def answer_change(change: ReleaseChange, release: str) -> ReleaseAnswer:
    """Return the answer of ``release`` ("1.36") to the scenario of ``change``, which must have one."""
    scenario = change.scenario or {}
    if change.is_of_configuration:
        validation = cli_validate(json.dumps(scenario["config"]), RELEASES[release])
        return ReleaseAnswer(release, errors=tuple(validation.get("errors", ())), defaulted=validation.get("defaulted"))
    return _of_pod({**scenario, "name": change.name, "release": release}, release)


def _of_pod(raw: Json, release: str) -> ReleaseAnswer:
    ready = Scenario.from_json(raw)
    scheduler = ready.create_scheduler(None)
    (pod,) = ready.pending
    explained = scheduler.explain(pod, preemption=True).to_dict()
    placement = scheduler.find(pod, SearchRequest(post_filter=True))
    preemption: Json = explained.get("preemption") or {}
    candidate = preemption.get("candidates", {}).get(preemption.get("node"), {})
    return ReleaseAnswer(
        release,
        node=placement.node,
        message="" if placement.node else placement.condition,
        victims=tuple(candidate.get("pods", ())),
        scores={
            plugin: {node: points * column["weight"] for node, points in column["normalized"].items()}
            for plugin, column in (explained.get("scores") or {}).items()
        },
        total=explained.get("total") or {},
        rejected={
            node: f"{rejection['plugin']}: {', '.join(rejection['reasons'])}"
            for node, rejection in (explained.get("rejected") or {}).items()
        },
    )


def _find_differences(first: ReleaseAnswer, second: ReleaseAnswer) -> frozenset[str]:
    differences = {
        NODE: first.node != second.node,
        SCORES: first.scores != second.scores,
        MESSAGE: first.message != second.message,
        VICTIMS: first.victims != second.victims,
        CONFIGURATION: (first.errors, first.defaulted) != (second.errors, second.defaulted),
    }
    return frozenset(name for name, other in differences.items() if other)


def _describe_answer(change: ReleaseChange, answer: ReleaseAnswer) -> str:
    if change.is_of_configuration:
        return f"refused: {'; '.join(answer.errors)}." if answer.errors else "the configuration is valid."
    if change.shows == VICTIMS:
        return f"{' and '.join(answer.victims)} would be evicted."
    if answer.node:
        return f"node {answer.node}."
    return f"no node: {answer.message.rstrip('.')}."
