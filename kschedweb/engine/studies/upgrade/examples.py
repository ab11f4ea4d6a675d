"""What two releases answer to the scenario of a change."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.releases import RELEASES, cli_validate
from kschedweb.engine.releases.changes import release_before
from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, SCORES, VICTIMS, ReleaseChange
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class ReleaseAnswer:
    """What a release says: of the pod that waits, or of the configuration where there is no pod.

    ``node`` is "" where none fits, and ``message`` then says why; ``scores`` are the weighted points of each plugin by
    node, ``rejected`` the plugin and its reasons by node, ``victims`` the pods that would be evicted.
    ``errors`` are those of the configuration, ``defaulted`` is what it becomes where there are none.
    """

    release: str
    node: str = ""
    message: str = ""
    victims: tuple[str, ...] = ()
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    defaulted: Json | None = None

    def to_dict(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__ if name != "defaulted"}


@dataclass(frozen=True, slots=True)
class ChangeExample:
    """A change with both answers; ``None`` where it has no scenario."""

    change: ReleaseChange
    before: ReleaseAnswer | None
    after: ReleaseAnswer | None

    @property
    def differs(self) -> frozenset[str]:
        """What of the answers differs, of ``SHOWN``."""
        return frozenset() if self.before is None or self.after is None else _find_differences(self.before, self.after)

    @property
    def summary(self) -> str:
        """The two answers in a sentence."""
        first, second = self.before, self.after
        if first is None or second is None:
            return ""
        return " ".join(f"{answer.release}: {_describe_answer(self.change, answer)}" for answer in (first, second))


def compare_answers(change: ReleaseChange) -> ChangeExample:
    """The answers of the release that has ``change``, and of the one before it."""
    if change.scenario is None:
        return ChangeExample(change, None, None)
    return ChangeExample(change, answer_change(change, release_before(change)), answer_change(change, change.since))


def answer_change(change: ReleaseChange, release: str) -> ReleaseAnswer:
    """What ``release`` ("1.36") says to the scenario of ``change``, which has one."""
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
    preemption: dict[str, Any] = explained.get("preemption") or {}
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
