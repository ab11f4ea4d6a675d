"""What two releases answer to the scenario of a change."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases import RELEASES, cli_validate
from kschedweb.engine.releases.changes import before
from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, SCORES, VICTIMS, Change
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
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
class Worked:
    """A change with both answers; ``None`` where it has no scenario."""

    change: Change
    before: Answer | None
    after: Answer | None

    @property
    def differs(self) -> frozenset[str]:
        """What of the answers differs, of ``SHOWN``."""
        return frozenset() if self.before is None or self.after is None else _differs(self.before, self.after)

    @property
    def told(self) -> str:
        """The two answers in a sentence."""
        first, second = self.before, self.after
        if first is None or second is None:
            return ""
        return " ".join(f"{one.release}: {_said(self.change, one)}" for one in (first, second))


def worked(change: Change) -> Worked:
    """The answers of the release that has ``change``, and of the one before it."""
    if change.scenario is None:
        return Worked(change, None, None)
    return Worked(change, answer(change, before(change)), answer(change, change.since))


def answer(change: Change, release: str) -> Answer:
    """What ``release`` ("1.36") says to the scenario of ``change``, which has one."""
    scenario = change.scenario or {}
    if change.is_of_configuration:
        found = cli_validate(json.dumps(scenario["config"]), RELEASES[release])
        return Answer(release, errors=tuple(found.get("errors", ())), defaulted=found.get("defaulted"))
    return _of_pod({**scenario, "name": change.name, "release": release}, release)


def _of_pod(raw: Json, release: str) -> Answer:
    ready = Scenario.of(raw)
    scheduler = ready.scheduler(None)
    (pod,) = ready.pending
    explained = scheduler.explain(pod, preemption=True).to_dict()
    found = scheduler.find(pod, SearchRequest(post_filter=True))
    preemption: dict[str, Any] = explained.get("preemption") or {}
    candidate = preemption.get("candidates", {}).get(preemption.get("node"), {})
    return Answer(
        release,
        node=found.node,
        message="" if found.node else found.condition,
        victims=tuple(candidate.get("pods", ())),
        scores={
            plugin: {node: points * column["weight"] for node, points in column["normalized"].items()}
            for plugin, column in (explained.get("scores") or {}).items()
        },
        total=explained.get("total") or {},
        rejected={
            node: f"{one['plugin']}: {', '.join(one['reasons'])}"
            for node, one in (explained.get("rejected") or {}).items()
        },
    )


def _differs(first: Answer, second: Answer) -> frozenset[str]:
    found = {
        NODE: first.node != second.node,
        SCORES: first.scores != second.scores,
        MESSAGE: first.message != second.message,
        VICTIMS: first.victims != second.victims,
        CONFIGURATION: (first.errors, first.defaulted) != (second.errors, second.defaulted),
    }
    return frozenset(name for name, other in found.items() if other)


def _said(change: Change, one: Answer) -> str:
    if change.is_of_configuration:
        return f"refused: {'; '.join(one.errors)}." if one.errors else "the configuration is valid."
    if change.shows == VICTIMS:
        return f"{' and '.join(one.victims)} would be evicted."
    if one.node:
        return f"node {one.node}."
    return f"no node: {one.message.rstrip('.')}."
