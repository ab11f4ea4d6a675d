"""The table of changes between releases has all that differs, and its scenarios show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from kschedweb.engine.config import Release
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.releases.changes import CHANGES, changes_between, release_before
from kschedweb.engine.releases.changes.change import ANSWER_PARTS, CONFIGURATION, NODE, SCORES, ReleaseChange
from kschedweb.engine.studies.upgrade.examples import compare_answers

PAIRS = [pytest.param(*pair, id="-".join(release.name for release in pair)) for pair in pairwise(RELEASES.values())]

UNSHOWN = {
    "ties",
    "score-plugins",
    "who-is-woken",
    "claims-wake",
    "who-is-woken-too",
    "gated-pods",
    "ending-pods",
    "selectors-include",
    "groups",
    "room-for-resizes",
    "pod-level-requests",
    "capacity-words",
    "fractional-ranges",
    "placement-percentage",
    "group-ranks",
    "group-hierarchies",
    "shrunk-nodes-wake",
    "namespaces-wake",
    "extenders-name-victims",
}
TURNED = [change for change in CHANGES if change.scenario is not None and (change.behaviour or change.gates)]


def since(release: Release) -> tuple[ReleaseChange, ...]:
    return tuple(change for change in CHANGES if change.since == release.name)


def list_named_differences(release: Release) -> set[str]:
    """Plugins, fields and points that changes of ``release`` name."""
    return {name for change in since(release) for name in (*change.plugins, *change.fields)}


def gates_asked(release: Release) -> set[str]:
    """The gates that the engine asks for when it makes its plugins."""
    asked_gates: set[str] = set()

    class Listening(Release):
        def is_enabled(self, gate: str) -> bool:
            asked_gates.add(gate)
            return super().is_enabled(gate)

    fields = {name: getattr(release, name) for name in release.__dataclass_fields__}
    listening = Listening(**fields)
    assert listening.in_tree_plugins.specs
    assert listening.counting
    return asked_gates


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_each_behaviour_that_differs_is_told_once(old: Release, new: Release) -> None:
    first, second = asdict(old.behaviour), asdict(new.behaviour)
    differing = sorted(name for name in first if first[name] != second[name])
    assert sorted(name for change in since(new) for name in change.behaviour) == differing


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_each_gate_whose_default_differs_and_that_is_asked_is_told_once(old: Release, new: Release) -> None:
    differing = {gate for gate in gates_asked(old) | gates_asked(new) if old.is_enabled(gate) != new.is_enabled(gate)}
    assert sorted(name for change in since(new) for name in change.gates) == sorted(differing)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_each_difference_of_the_default_set_is_told(old: Release, new: Release) -> None:
    assert set(_differing(old, new)) <= list_named_differences(new)


def _differing(old: Release, new: Release) -> Iterator[str]:
    first = {ref.name: ref.weight for ref in old.in_tree_plugins.defaults}
    second = {ref.name: ref.weight for ref in new.in_tree_plugins.defaults}
    yield from (name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    shared_order = [[name for name in order if name in first and name in second] for order in (first, second)]
    yield from (name for name, other in zip(*shared_order, strict=True) if name != other)
    yield from old.in_tree_plugins.specs.keys() ^ new.in_tree_plugins.specs.keys()
    for name in old.in_tree_plugins.specs.keys() & new.in_tree_plugins.specs.keys():
        gained = set(new.schema.plugin_sets) - set(old.schema.plugin_sets)
        if old.in_tree_plugins.specs[name].points != new.in_tree_plugins.specs[name].points - gained:
            yield name
    yield from set(old.schema.plugin_sets) ^ set(new.schema.plugin_sets)


def test_names_are_unique_and_those_of_plugins_exist() -> None:
    assert len({change.name for change in CHANGES}) == len(CHANGES)
    plugin_names = {name for release in RELEASES.values() for name in release.in_tree_plugins.specs}
    assert {name for change in CHANGES for name in change.plugins} <= plugin_names


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_the_scenario_is_answered_otherwise_in_the_way_that_is_told(change: ReleaseChange) -> None:
    assert change.shows in ANSWER_PARTS
    comparison = compare_answers(change)
    if change.scenario is None:
        assert change.name in UNSHOWN
        assert comparison.before is comparison.after is None
        return
    assert comparison.before is not None
    assert comparison.after is not None
    assert change.shows in comparison.differs
    assert comparison.summary.startswith(f"{release_before(change)}: ")
    if change.shows in (NODE, SCORES):
        parts = [
            (explanation.scores, explanation.rejected, explanation.message)
            for explanation in (comparison.before, comparison.after)
        ]
        assert parts[0] != parts[1]
    if change.shows == SCORES:
        (plugin,) = change.plugins
        assert comparison.before.scores[plugin] != comparison.after.scores[plugin]
    if change.shows == CONFIGURATION:
        assert comparison.before.errors or comparison.after.errors


@pytest.mark.parametrize("change", TURNED, ids=lambda change: change.name)
def test_it_is_the_behaviour_or_the_gate_that_makes_the_difference(
    change: ReleaseChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer release with the older one's way in this one thing answers as the older one does in it."""
    new, old = RELEASES[change.since], RELEASES[release_before(change)]
    behaviour = replace(new.behaviour, **{name: getattr(old.behaviour, name) for name in change.behaviour})
    gates = {**new.gates, **{name: replace(new.gates[name], default=False) for name in change.gates}}
    comparison = compare_answers(change)
    monkeypatch.setitem(RELEASES, change.since, replace(new, behaviour=behaviour, gates=gates))
    turned = compare_answers(change)
    assert turned.after != comparison.after


def test_between_is_what_is_crossed_in_either_direction() -> None:
    assert {change.since for change in changes_between("1.35", "1.37")} == {"1.36", "1.37"}
    assert changes_between("1.37", "1.35") == changes_between("1.35", "1.37")
    assert changes_between("1.36", "1.36") == ()
    assert changes_between("1.34", "1.38") == CHANGES
