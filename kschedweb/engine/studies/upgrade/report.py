"""Report what an upgrade of kube-scheduler changes for one cluster and policy, with explanations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial

from kschedweb.engine.config import Release
from kschedweb.engine.config.release import Gate
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.changes import changes_between
from kschedweb.engine.releases.changes.change import ReleaseChange
from kschedweb.engine.studies.compare.comparison import PlacementChange, PlacementComparison
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.upgrade.configurations import FieldChange, compare_fields
from kschedweb.engine.values import dataclass

# Pods that one reason lists.
MOST_PODS = 50
# Kinds of changes of messages.
MOST_KINDS = 50
# Ends of the clauses of a message.
CLAUSES = re.compile(r"(?:\.|,|:) (?=\S)|\.$")
# Numbers of nodes, and names of nodes, which differ between runs without meaning.
COUNT = re.compile(r"\b\d+(?:/\d+)?(?: |$)")
NODE = re.compile(r"(?<=on node )[^\s,]+")
ANY = "…"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The two releases, the policy's text, and its runs under both."""

    first: Release
    second: Release
    document: str | bytes | None
    before: RunOutcome
    after: RunOutcome
    comparison: PlacementComparison

    @property
    def changes(self) -> tuple[ReleaseChange, ...]:
        """All changes between the two releases."""
        return changes_between(self.first.name, self.second.name)


@dataclass(frozen=True, slots=True)
class GateChange:
    """A feature gate that is on in one release and off in the other, or that only one of them has."""

    name: str
    before: Gate | None
    after: Gate | None


def build_report(upgrade: Upgrade) -> Json:
    """Return the report as plain data: ``pods`` by the deciding plugin, ``messages`` by kind, ``fields``, ``gates``.

    Each part names the ``changes`` that explain it; ``changes`` has these with their sentences.
    """
    pods, messages = list(_group_pods(upgrade)), list(_group_messages(upgrade))
    field_changes = [
        _describe_field(upgrade, field_change)
        for field_change in compare_fields(upgrade.document, upgrade.first, upgrade.second)
    ]
    switched = [
        _describe_gate(upgrade, gate)
        for gate in compare_gates(upgrade.first, upgrade.second)
        if _is_switched(upgrade, gate)
    ]
    names = {name for part in (pods, messages, field_changes, switched) for entry in part for name in entry["changes"]}
    return {
        "from": upgrade.first.title,
        "to": upgrade.second.title,
        "pods": pods,
        "messages": messages[:MOST_KINDS],
        "fields": field_changes,
        "gates": sorted(switched, key=lambda gate: (not gate["changes"], gate["name"])),
        "changes": [describe_change(change) for change in upgrade.changes if change.name in names],
    }


def describe_change(change: ReleaseChange) -> Json:
    """Return the name of a change, its first release, and its words."""
    return {name: getattr(change, name) for name in ("name", "since", "title", "sentence")}


def compare_gates(first: Release, second: Release) -> list[GateChange]:
    """Return the gates with another stage, default or lock, or that only one of the releases has; by name."""
    names = sorted(first.gates.keys() | second.gates.keys())
    listed = [GateChange(name, first.gates.get(name), second.gates.get(name)) for name in names]
    return [gate for gate in listed if _gate_state(gate.before) != _gate_state(gate.after)]


def _gate_state(gate: Gate | None) -> tuple[str, bool, bool] | None:
    return None if gate is None else (gate.stage, gate.default, gate.locked)


def _is_switched(upgrade: Upgrade, gate: GateChange) -> bool:
    """Return whether the gate is on in one release and off in the other, and exists in both."""
    in_both = gate.before is not None and gate.after is not None
    return in_both and upgrade.first.is_enabled(gate.name) != upgrade.second.is_enabled(gate.name)


def _describe_gate(upgrade: Upgrade, gate: GateChange) -> Json:
    parts = {"before": gate.before, "after": gate.after}
    sides: Json = {key: _plain_gate(state) for key, state in parts.items()}
    return {
        "name": gate.name,
        **sides,
        "changes": _explaining_changes(upgrade, lambda change: gate.name in change.gates),
    }


def _plain_gate(gate: Gate | None) -> Json | None:
    return None if gate is None else {"stage": gate.stage, "default": gate.default, "locked": gate.locked}


def _describe_field(upgrade: Upgrade, field_change: FieldChange) -> Json:
    names = set(re.split(r"[.\[\]]+", field_change.path))
    if field_change.path.endswith("(order)"):
        names |= {
            name
            for name, other in zip(field_change.before.split(", "), field_change.after.split(", "), strict=True)
            if name != other
        }
    elif isinstance(field_change.before or field_change.after, dict):
        names |= (field_change.before or field_change.after).keys()
    return {
        **asdict(field_change),
        "changes": _explaining_changes(upgrade, lambda change: not names.isdisjoint(change.fields)),
    }


def _explaining_changes(upgrade: Upgrade, predicate: Callable[[ReleaseChange], bool]) -> list[str]:
    return [change.name for change in upgrade.changes if predicate(change)]


# Pods.


def _group_pods(upgrade: Upgrade) -> Iterator[Json]:
    """Yield moved pods by the deciding plugin, most pods first; pods that only follow others come last in a group."""
    changes_by_reason: dict[tuple[str, str], list[PlacementChange]] = defaultdict(list)
    comparison = upgrade.comparison
    for change in (*comparison.moved, *comparison.newly_unscheduled, *comparison.newly_scheduled):
        kind = "score" if change.lead is not None else "verdict" if change.plugin else ""
        changes_by_reason[change.plugin, kind].append(change)
    for (plugin, kind), pods in sorted(changes_by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        following = sum(pod.follows for pod in pods)
        listed = [pod.to_dict() for pod in sorted(pods, key=lambda pod: pod.follows)[:MOST_PODS]]
        names = _explaining_changes(upgrade, lambda change, plugin=plugin: plugin in change.plugins)  # type: ignore[misc]
        summary = {"plugin": plugin, "by": kind, "count": len(pods), "following": following}
        yield {**summary, "pods": listed, "changes": names}


# Messages.


def _group_messages(upgrade: Upgrade) -> Iterator[Json]:
    """Yield the changes of the last messages of pods by their old and new clauses, the most frequent first."""
    pods_by_difference: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, str, str]]] = defaultdict(list)
    for pod, before, after in _changed_messages(upgrade):
        pods_by_difference[_clause_difference(before, after)].append((pod, before, after))
    for (removed, new), pods in sorted(pods_by_difference.items(), key=lambda item: (-len(item[1]), item[0])):
        clause_text = " ".join((*removed, *new))
        pod, before, after = pods[0]
        yield {
            "gone": list(removed),
            "new": list(new),
            "count": len(pods),
            "example": {"pod": pod, "before": before, "after": after},
            "changes": _explaining_changes(upgrade, partial(_is_worded_in, clause_text)),
        }


def _is_worded_in(text: str, change: ReleaseChange) -> bool:
    """Return whether ``text`` has words of ``change``."""
    return any(word in text for word in change.words)


def _changed_messages(upgrade: Upgrade) -> Iterable[tuple[str, str, str]]:
    """Yield pods with another message: the pod, its message in the first run, and in the second."""
    for pair in upgrade.comparison.pairs.listed:
        before, after = _last_message(upgrade.before, pair.before), _last_message(upgrade.after, pair.after)
        if before != after:
            yield pair.pod, before, after


def _last_message(outcome: RunOutcome, row: int) -> str:
    text = int(outcome.message[row])
    return outcome.texts[text] if text >= 0 else ""


def _clause_difference(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the clauses of ``before`` alone and of ``after`` alone, without counts and names of nodes."""
    first, second = (dict.fromkeys(split_clauses(text)) for text in (before, after))
    return tuple(clause for clause in first if clause not in second), tuple(
        clause for clause in second if clause not in first
    )


def split_clauses(message: str) -> list[str]:
    """Return the clauses of a message, without counts and names of nodes."""
    parts = CLAUSES.split(NODE.sub(ANY, message))
    return [COUNT.sub("", part).strip() for part in parts if part.strip()]
