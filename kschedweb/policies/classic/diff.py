"""Differences in behaviour between two classic policies."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.policies.classic.effective import Effective, RunningRule, compute_effective
from kschedweb.policies.classic.validation import ClassicChecked
from kschedweb.policies.diff import PolicyChange


def list_changes(old: ClassicChecked, new: ClassicChecked) -> list[PolicyChange]:
    """Return the differences in behaviour from ``old`` to ``new``; empty if one of them cannot run."""
    before, after = compute_effective(old), compute_effective(new)
    if before is None or after is None:
        return []
    return [
        *_setting_changes(before, after),
        *_rule_changes("predicates", before.predicates, after.predicates),
        *_rule_changes("priorities", before.priorities, after.priorities),
        *_extender_changes(before, after),
    ]


def _setting_changes(before: Effective, after: Effective) -> Iterator[PolicyChange]:
    for was, now in zip(before.settings, after.settings, strict=True):
        # The number of extenders says nothing beside the changes of the extenders themselves.
        if was.value != now.value and was.name != "extenders":
            yield PolicyChange("policy", was.name, was.value, now.value)


def _rule_changes(list_name: str, before: list[RunningRule], after: list[RunningRule]) -> Iterator[PolicyChange]:
    old, new = {rule.name: rule for rule in before}, {rule.name: rule for rule in after}
    for name in [*new, *(name for name in old if name not in new)]:
        was, now = old.get(name), new.get(name)
        if was is None or now is None:
            yield PolicyChange(
                list_name,
                name,
                "off" if was is None else _describe_rule(was),
                "off" if now is None else _describe_rule(now),
            )
            continue
        if was.weight != now.weight:
            yield PolicyChange(list_name, f"{name} weight", str(was.weight), str(now.weight))
        if was.argument != now.argument:
            yield PolicyChange(list_name, f"{name} argument", was.argument, now.argument)


def _describe_rule(rule: RunningRule) -> str:
    return " ".join(["on", *([f"×{rule.weight}"] if rule.weight else []), *([rule.argument] if rule.argument else [])])


def _extender_changes(before: Effective, after: Effective) -> Iterator[PolicyChange]:
    """Changes of extenders, compared by position, because their order matters."""
    for place in range(max(len(before.extenders), len(after.extenders))):
        old, new = (dict(side[place]) if place < len(side) else {} for side in (before.extenders, after.extenders))
        location = f"extenders[{place}]"
        if not old or not new:
            yield PolicyChange(location, "extender", old.get("urlPrefix", ""), new.get("urlPrefix", ""))
            continue
        for path in [*new, *(path for path in old if path not in new)]:
            if old.get(path) != new.get(path):
                yield PolicyChange(location, path, old.get(path, ""), new.get(path, ""))
