"""Settings of quota queues by their paths: read, written, checked, and what a run makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.studies import ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.actors.queues.figures import find_log, list_courses
from kschedweb.engine.studies.actors.queues.setting_paths import (
    SettingError,
    build_settings,
    format_settings,
    is_setting_path,
    list_values,
    parse_setting_path,
    parse_settings,
    read_settings,
)
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import with_actor
from kschedweb.engine.studies.search.space import find_problems, read_space
from tests.engine.studies.actors.test_queues import make_document
from tests.engine.studies.worlds import configuration

OWN = read_settings({})


def play(settings: str, **queues: Any) -> dict[str, tuple[float | None, int]]:
    """Return the wait and the evictions of each job under other settings."""
    document = read_scenario(make_document(**queues))
    prepared = prepare_scenario(document, [], {}, seed=1, now=0.0)
    own = document.actors["queues"]
    changed = with_actor(prepared, "queues", own.with_changes(read_settings(build_settings(parse_settings(settings)))))
    log = find_log(run_scenario(changed, configuration()))
    assert log is not None
    return {course.name.partition("job-")[2]: (course.wait, course.evictions) for course in list_courses(log)}


def test_a_setting_changes_what_a_run_does() -> None:
    assert play("")["borrower"] == (0.0, 1)
    # With its own quota the borrower is no borrower.
    assert play("a/f/cpu/nominal=6")["borrower"] == (0.0, 0)
    # Nobody is asked to go, so the owner waits for the borrower's end.
    waits = play("b/reclaimWithinCohort=Never")
    assert (waits["borrower"], round(waits["owner"][0] or 0)) == ((0.0, 0), 300)
    # Out of the cohort it may not borrow at all.
    assert play("a/cohort=")["borrower"][0] is None
    # The later of two settings of one thing counts: the document's own comes first.
    quotas = [{"queue": "a", "flavor": "f", "resource": "cpu", "nominal": "6"}]
    assert play("", quotas=quotas)["borrower"] == (0.0, 0)
    assert play("a/f/cpu/nominal=4", quotas=quotas)["borrower"] == (0.0, 1)


def test_paths_and_texts_of_settings_are_read_and_written() -> None:
    text = "a/f/nvidia.com/gpu/lendingLimit=2, a/cohort=, fairSharing=true"
    values = parse_settings(text)
    assert values == {"a/f/nvidia.com/gpu/lendingLimit": "2", "a/cohort": "", "fairSharing": True}
    assert format_settings(values) == text
    assert parse_setting_path("a/f/nvidia.com/gpu/nominal").resource == "nvidia.com/gpu"
    assert build_settings(values) == {
        "quotas": [{"queue": "a", "flavor": "f", "resource": "nvidia.com/gpu", "lendingLimit": "2"}],
        "rules": [{"queue": "a", "cohort": ""}],
        "fairSharing": True,
    }
    assert is_setting_path("fairSharing")
    assert not is_setting_path("profiles[0].pluginConfig[NodeResourcesFit].args.ignoredResources[nvidia.com/gpu]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/f/cpu/nominal", "has no value"),
        ("a/f/cpu/most=2", "QUEUE/FLAVOR/RESOURCE/FIELD with one of nominal, borrowingLimit, lendingLimit"),
        ("a/f=2", "must be fairSharing"),
    ],
)
def test_a_text_that_names_no_setting_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_settings(text)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("a/f/cpu/nominal=much", "queues.quotas[0].nominal", "quantity"),
        ("a/queueingStrategy=Any", "queues.rules[0].queueingStrategy", "must be BestEffortFIFO or StrictFIFO"),
        ("fairSharing=perhaps", "queues.fairSharing", "true or false"),
    ],
)
def test_a_value_of_another_kind_is_refused_at_its_place(text: str, path: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read_settings(build_settings(parse_settings(text)))
    (problem,) = error.value.problems
    assert problem.path == path
    assert message in problem.text


def test_a_rule_of_a_queue_is_no_rule_of_a_cohort() -> None:
    with pytest.raises(ScenarioError, match=r"queues.rules\[0\]: there is no ClusterQueue c; there are a, b"):
        play("c/queueingStrategy=StrictFIFO")


def test_the_own_values_are_listed_by_their_paths() -> None:
    values = list_values(make_document()["objects"], OWN)
    assert {path: values[path] for path in ("a/f/cpu/nominal", "a/f/cpu/borrowingLimit", "b/reclaimWithinCohort")} == {
        "a/f/cpu/nominal": 4,
        "a/f/cpu/borrowingLimit": None,
        "b/reclaimWithinCohort": "Any",
    }
    assert (values["fairSharing"], values["a/whenCanPreempt"], values["a/weight"]) == (False, "TryNextFlavor", 1)
    assert all(parse_setting_path(path) for path in values)


def test_settings_are_dimensions_of_a_space_beside_fields_of_the_policy() -> None:
    values = list_values(make_document()["objects"], OWN)
    weight = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
    raw = [
        {"path": "a/f/cpu/nominal", "from": 2, "to": 8, "step": 2},
        {"path": weight, "values": [1, 5]},
        {"path": "b/reclaimWithinCohort", "values": ["Never", "Any"]},
    ]
    base = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    space = read_space(raw, base, settings=values)
    assert (space.size, space.base_point) == (16, (4, 1, "Any"))
    assert space.dimensions[0].label == "a f cpu nominal"
    assert space.settings_at((8, 5, "Any")) == {"a/f/cpu/nominal": 8}
    assert space.document_at((8, 1, "Never")) == base
    refused = [
        *find_problems(space, [{"path": "c/f/cpu/nominal", "from": 2, "to": 8}]),
        *find_problems(space, [{"path": "a/queueingStrategy", "values": ["StrictFIFO", "Any"]}]),
        *find_problems(read_space(raw[1:2], base), [{"path": "a/cohort", "values": ["", "x"]}]),
    ]
    assert [(problem.path, problem.text.partition(":")[0]) for problem in refused] == [
        ("space[0].path", "the scenario has no c/f/cpu/nominal"),
        ("space[0].values", "a queueingStrategy Any"),
        ("space[0].path", "the scenario has no quota queues"),
    ]
