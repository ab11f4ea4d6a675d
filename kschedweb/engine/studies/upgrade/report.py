"""What an upgrade of kube-scheduler changes for one cluster and policy, with the sentence that explains each part."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict

from kschedweb.engine.config import Release
from kschedweb.engine.config.release import Gate
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.changes import between
from kschedweb.engine.releases.changes.change import Change
from kschedweb.engine.studies.compare.comparison import Comparison, PlacementChange
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.upgrade.configurations import FieldChange, fields
from kschedweb.engine.values import dataclass

MOST_PODS = 50  # listed of one reason
MOST_KINDS = 50  # of changes of messages
CLAUSES = re.compile(r"(?:\.|,|:) (?=\S)|\.$")
COUNT = re.compile(r"\b\d+(?:/\d+)?(?: |$)")
NODE = re.compile(r"(?<=on node )[^\s,]+")
ANY = "…"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The two releases, the policy's text, and its runs under both."""

    first: Release
    second: Release
    document: str | bytes | None
    before: Outcome
    after: Outcome
    comparison: Comparison

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that differs between the two releases."""
        return between(self.first.name, self.second.name)


@dataclass(frozen=True, slots=True)
class GateChange:
    """A feature gate that is on in one release and off in the other, or that only one of them can switch."""

    name: str
    before: Gate | None
    after: Gate | None


def report(upgrade: Upgrade) -> Json:
    """Plain data: ``pods`` by what decides, ``messages`` by the kind of their change, ``fields``, ``gates``.

    Each part names the ``changes`` that explain it; ``changes`` has these with their sentences.
    """
    pods, messages = list(_pods(upgrade)), list(_messages(upgrade))
    told = [_field(upgrade, one) for one in fields(upgrade.document, upgrade.first, upgrade.second)]
    switched = [_gate(upgrade, one) for one in gates(upgrade.first, upgrade.second) if _switches(upgrade, one)]
    named = {name for part in (pods, messages, told, switched) for one in part for name in one["changes"]}
    return {
        "from": upgrade.first.title,
        "to": upgrade.second.title,
        "pods": pods,
        "messages": messages[:MOST_KINDS],
        "fields": told,
        "gates": sorted(switched, key=lambda one: (not one["changes"], one["name"])),
        "changes": [change_told(change) for change in upgrade.changes if change.name in named],
    }


def change_told(change: Change) -> Json:
    """The name of a change, since when it is so, and its words."""
    return {name: getattr(change, name) for name in ("name", "since", "title", "sentence")}


def gates(first: Release, second: Release) -> list[GateChange]:
    """The gates of which stage, default or lock differ, or that one of the releases does not know; by name."""
    names = sorted(first.gates.keys() | second.gates.keys())
    listed = [GateChange(name, first.gates.get(name), second.gates.get(name)) for name in names]
    return [one for one in listed if _state(one.before) != _state(one.after)]


def _state(gate: Gate | None) -> tuple[str, bool, bool] | None:
    return None if gate is None else (gate.stage, gate.default, gate.locked)


def _switches(upgrade: Upgrade, gate: GateChange) -> bool:
    """Whether the gate is on in one release and off in the other, both of which know it."""
    known = gate.before is not None and gate.after is not None
    return known and upgrade.first.on(gate.name) != upgrade.second.on(gate.name)


def _gate(upgrade: Upgrade, gate: GateChange) -> Json:
    parts = {"before": gate.before, "after": gate.after}
    told: Json = {key: _gate_told(one) for key, one in parts.items()}
    return {"name": gate.name, **told, "changes": _explaining(upgrade, lambda change: gate.name in change.gates)}


def _gate_told(gate: Gate | None) -> Json | None:
    return None if gate is None else {"stage": gate.stage, "default": gate.default, "locked": gate.locked}


def _field(upgrade: Upgrade, one: FieldChange) -> Json:
    names = set(re.split(r"[.\[\]]+", one.path))
    if one.path.endswith("(order)"):
        names |= {
            name for name, other in zip(one.before.split(", "), one.after.split(", "), strict=True) if name != other
        }
    elif isinstance(one.before or one.after, dict):
        names |= (one.before or one.after).keys()
    return {**asdict(one), "changes": _explaining(upgrade, lambda change: not names.isdisjoint(change.fields))}


def _explaining(upgrade: Upgrade, which: Callable[[Change], bool]) -> list[str]:
    return [change.name for change in upgrade.changes if which(change)]


# Pods.


def _pods(upgrade: Upgrade) -> Iterator[Json]:
    """Pods that are placed elsewhere by what decides it, the most first; of each, those that follow others last."""
    found: dict[tuple[str, str], list[PlacementChange]] = defaultdict(list)
    comparison = upgrade.comparison
    for change in (*comparison.moved, *comparison.newly_unscheduled, *comparison.newly_scheduled):
        kind = "score" if change.lead is not None else "verdict" if change.plugin else ""
        found[change.plugin, kind].append(change)
    for (plugin, kind), pods in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        following = sum(pod.follows for pod in pods)
        listed = [pod.to_dict() for pod in sorted(pods, key=lambda pod: pod.follows)[:MOST_PODS]]
        names = _explaining(upgrade, lambda change, plugin=plugin: plugin in change.plugins)  # type: ignore[misc]
        told = {"plugin": plugin, "by": kind, "count": len(pods), "following": following}
        yield {**told, "pods": listed, "changes": names}


# Messages.


def _messages(upgrade: Upgrade) -> Iterator[Json]:
    """The changes of the last messages of pods by what is gone from them and what is new, the most frequent first."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, str, str]]] = defaultdict(list)
    for pod, before, after in _texts(upgrade):
        found[_difference(before, after)].append((pod, before, after))
    for (gone, new), pods in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        said = " ".join((*gone, *new))
        pod, before, after = pods[0]
        yield {
            "gone": list(gone),
            "new": list(new),
            "count": len(pods),
            "example": {"pod": pod, "before": before, "after": after},
            "changes": _explaining(upgrade, lambda change, said=said: any(word in said for word in change.words)),  # type: ignore[misc]
        }


def _texts(upgrade: Upgrade) -> Iterable[tuple[str, str, str]]:
    """(pod, message in the first run, message in the second) of pods that are told something else."""
    for pair in upgrade.comparison.pairs.listed:
        before, after = _said(upgrade.before, pair.before), _said(upgrade.after, pair.after)
        if before != after:
            yield pair.pod, before, after


def _said(outcome: Outcome, row: int) -> str:
    text = int(outcome.message[row])
    return outcome.texts[text] if text >= 0 else ""


def _difference(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(clauses of ``before`` alone, clauses of ``after`` alone), without counts and names of nodes."""
    first, second = (dict.fromkeys(clauses(text)) for text in (before, after))
    return tuple(one for one in first if one not in second), tuple(one for one in second if one not in first)


def clauses(message: str) -> list[str]:
    """The parts of a message, without counts and names of nodes."""
    parts = CLAUSES.split(NODE.sub(ANY, message))
    return [COUNT.sub("", part).strip() for part in parts if part.strip()]
