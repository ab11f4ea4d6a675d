"""Descriptions of predicates and priorities: one each, true to when they run, and as the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kschedweb.engine.releases.classic import Edition, Registry, load_policy
from kschedweb.engine.releases.classic.catalogue import GATES, ORDER
from kschedweb.engine.releases.classic.descriptions import (
    DESCRIPTIONS,
    PREDICATE,
    PREDICATES,
    PRIORITIES,
    describe_rule,
)
from kschedweb.engine.releases.classic.predicates import PREDICATES as KNOWN_PREDICATES
from kschedweb.engine.releases.classic.priorities import PRIORITIES as KNOWN_PRIORITIES
from tests.engine.releases.classic.support import POLICY

DOCS = (Path(__file__).parents[4] / "docs" / "classic.md").read_text()
BOTH = [Edition(), Edition("1.9"), Edition(gates=GATES), Edition("1.9", GATES)]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of the documentation."""
    table = DOCS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    """The names in the first cell of a row."""
    return re.findall(r"[A-Za-z]+", cell.removeprefix("by "))


def test_everything_there_is_is_described_once() -> None:
    assert [predicate.name for predicate in PREDICATES] == list(ORDER)
    assert set(KNOWN_PREDICATES) <= set(DESCRIPTIONS)
    assert {priority.name for priority in PRIORITIES} == {*KNOWN_PRIORITIES, "serviceAntiAffinity", "labelPreference"}
    assert all(predicate.reasons for predicate in PREDICATES)
    assert all(priority.prefers for priority in PRIORITIES)


@pytest.mark.parametrize("edition", BOTH, ids=["1.13", "1.9", "1.13 with all gates", "1.9 with all gates"])
def test_what_is_said_to_run_is_what_runs(edition: Edition) -> None:
    algorithm = Registry(edition).build_algorithm()
    for kind, runs in ((PREDICATE, algorithm.predicates), ("priority", algorithm.priorities)):
        of_kind = [description for description in DESCRIPTIONS.values() if description.kind == kind]
        running = {
            description.name for description in of_kind if description.activation(edition) in ("mandatory", "default")
        }
        assert running == {plugin.name for plugin in runs}
    loaded = load_policy({**POLICY, "predicates": [], "priorities": []})
    bare = Registry(edition).build_algorithm(loaded.policy).predicates
    assert {
        description.name for description in DESCRIPTIONS.values() if description.activation(edition) == "mandatory"
    } == {plugin.name for plugin in bare}


@pytest.mark.parametrize("version", ["1.13", "1.9"])
def test_those_that_an_argument_makes_are_known_under_any_name(version: str) -> None:
    shapes = [{"labelsPresence": {"labels": ["ssd"]}}, {"serviceAffinity": {"labels": ["rack"]}}]
    scores: list[dict] = [{"labelPreference": {"label": "ssd"}}, {"serviceAntiAffinity": {"label": "rack"}}]
    scores.append({"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 1}]}})
    predicates = [
        {"name": name, "argument": argument}
        for name, argument in zip(("CheckNodeLabelPresence", "HostName"), shapes, strict=True)
    ]
    priorities = [{"name": f"own{number}", "weight": 1, "argument": argument} for number, argument in enumerate(scores)]
    loaded = load_policy({**POLICY, "predicates": predicates, "priorities": priorities})
    algorithm = Registry(Edition(version)).build_algorithm(loaded.policy)
    described = {plugin.name: describe_rule(plugin).name for plugin in algorithm.plugins}
    assert described == {
        "CheckNodeCondition": "CheckNodeCondition",
        "CheckNodeLabelPresence": "CheckNodeLabelPresence",
        "HostName": "CheckServiceAffinity",
        "own0": "labelPreference",
        "own1": "serviceAntiAffinity",
        "own2": "RequestedToCapacityRatioPriority",
    }


def test_the_documentation_says_the_same_of_predicates() -> None:
    table = rows("Predicates")
    assert [name for row in table for name in names(row[0])] == list(ORDER)
    for cell, default, rejects in table:
        for description in (DESCRIPTIONS[name] for name in names(cell)):
            assert description.does == rejects
            activation = description.activation(Edition())
            assert (default == "yes") == (activation in ("mandatory", "default"))
            assert (default == "switch" or "TaintNodesByCondition" in default) == bool(description.switch)
            assert default.startswith("by `") == (activation == "by argument")


def test_the_documentation_says_the_same_of_priorities() -> None:
    table = rows("Priorities")
    assert [name for row in table for name in names(row[0])] == [priority.name for priority in PRIORITIES]
    weights = Edition().default_priorities
    for cell, weight, score in table:
        description = DESCRIPTIONS[names(cell)[0]]
        assert description.does == score
        assert weight == (
            f"{weights[description.name]:,}" if description.name in weights else "switch" if description.switch else ""
        )
