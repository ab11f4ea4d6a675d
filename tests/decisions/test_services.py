"""Explanations of stored snapshots: kept, bounded in time, clear where they cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import services
from kschedweb.decisions.deciders import PROFILES
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.decisions.snapshots import engine_snapshot, get_cache
from kschedweb.engine import Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.policies.models import Revision
from kschedweb.web.errors import NotFound, Unprocessable
from tests.engine.builders import node, pod

from .conftest import HEAD, MOST_ALLOCATED, refs


@pytest.fixture
def demo(store_snapshot: Callable[..., Snapshot], demo_objects: list[Json]) -> Snapshot:
    """Each test's own, since one of them commits."""
    return store_snapshot(demo_objects)


def test_an_explanation_is_the_engines_own(demo: Snapshot, demo_objects: list[Json], revision: Revision) -> None:
    configuration = load(HEAD).configuration
    assert configuration is not None
    engine = EngineSnapshot.from_objects(demo_objects)
    for waiting in engine.pending:
        expected = Scheduler(engine, configuration).explain(waiting).to_dict()
        assert services.explain_pod(demo, waiting.key, revision).to_dict() == expected


def test_the_same_question_is_answered_once(demo: Snapshot, revision: Revision) -> None:
    assert services.decide_pod(demo, "ml/notebook", revision) is services.decide_pod(demo, "ml/notebook", revision)


def test_another_revision_is_another_answer(
    demo: Snapshot, revision: Revision, policy: Callable[[str, str], Revision]
) -> None:
    most_allocated = policy("most", MOST_ALLOCATED)
    before, after = (services.explain_pod(demo, "ml/notebook", item).to_dict() for item in (revision, most_allocated))
    assert before["scores"]["NodeResourcesFit"] != after["scores"]["NodeResourcesFit"]
    configuration = load(MOST_ALLOCATED).configuration
    assert configuration is not None
    assert services.explain_with(demo, "ml/notebook", configuration).to_dict() == after


def test_a_pod_that_is_not_there_is_not_found(demo: Snapshot, revision: Revision) -> None:
    with pytest.raises(NotFound, match="no pod shop/nothing"):
        services.explain_pod(demo, "shop/nothing", revision)


def test_a_pod_of_another_scheduler_cannot_be_decided(demo: Snapshot, policy: Callable[[str, str], Revision]) -> None:
    other_policy = policy("other", f"{HEAD}profiles:\n- schedulerName: batch\n")
    with pytest.raises(Unprocessable, match='profile not found for scheduler name "default-scheduler"'):
        services.explain_pod(demo, "ml/notebook", other_policy)
    outcome = services.summarize_pods(demo, other_policy, refs(demo, ["ml/notebook"]))["ml/notebook"]
    assert (outcome.message, outcome.status) == ("Handled by default-scheduler", "handled_elsewhere")
    # The overview counts pods by their reason: it is the same for all pods of a scheduler that the policy lacks.
    assert outcome.reasons == ("handled by default-scheduler",)


def test_outcomes_stop_when_their_time_is_up_but_give_the_first(demo: Snapshot, revision: Revision) -> None:
    keys = [f"{row.namespace}/{row.name}" for row in PodRow.objects.filter(snapshot=demo, pending=True)]
    first_summaries = services.summarize_pods(demo, revision, refs(demo, keys), seconds=0.0)
    assert keys[0] in first_summaries
    assert len(first_summaries) < len(keys)
    everything = services.summarize_pods(demo, revision, refs(demo, keys))
    assert set(everything) == set(keys)
    assert everything["analytics/cube-builder"].reasons == ("Insufficient cpu",)
    assert everything["ml/notebook"].node
    # What was worked out once costs no time.
    assert services.summarize_pods(demo, revision, refs(demo, keys), seconds=0.0) == everything


def test_pods_alike_are_asked_about_once_and_a_nominated_one_for_itself(
    store_snapshot: Callable[..., Snapshot], revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = [pod(f"alike-{number}", requests={"cpu": "3"}) for number in range(3)]
    nominated = pod("nominated", requests={"cpu": "3"}) | {"status": {"nominatedNodeName": "a"}}
    snapshot = store_snapshot([node("a"), *alike, nominated])
    asked_keys, summarize_pod = list[str](), services.summarize_pod

    def count_summarize(snapshot: Snapshot, revision: Revision, key: str) -> services.DecisionSummary:
        asked_keys.append(key)
        return summarize_pod(snapshot, revision, key)

    monkeypatch.setattr(services, "summarize_pod", count_summarize)
    keys = [*(f"default/alike-{number}" for number in range(3)), "default/nominated"]
    summaries = services.summarize_pods(snapshot, revision, refs(snapshot, keys))
    assert asked_keys == ["default/alike-0", "default/nominated"]
    assert summaries == {key: summarize_pod(snapshot, revision, key) for key in keys}
    assert [summaries[key].node for key in keys] == ["", "", "", "a"]


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_get_the_same_answers(demo: Snapshot, revision: Revision) -> None:
    keys = [f"{row.namespace}/{row.name}" for row in PodRow.objects.filter(snapshot=demo)[:40]]
    engine_snapshot(demo)
    services.scheduler_of(demo, revision)
    alone = {key: services.explain_pod(demo, key, revision).to_dict() for key in keys}
    get_cache(demo).answers.clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda key: services.explain_pod(demo, key, revision).to_dict(), keys * 3))
    assert together == [alone[key] for key in keys * 3]


def test_all_load_aware_policies_score_one_cluster_without_the_bound_pod(demo: Snapshot) -> None:
    row = PodRow.objects.filter(snapshot=demo, scheduler_name="default-scheduler").exclude(node="").first()
    assert row is not None
    key, sides = f"{row.namespace}/{row.name}", all_sides()
    cases = [services.side_case(demo, key, side) for side in sides]
    assert {id(case.snapshot) for case in cases} == {id(cases[0].snapshot)}
    assert {case.bound_to for case in cases} == {row.node}
    assert key not in cases[0].snapshot.pods.slots
    for side, case in zip(sides, cases, strict=True):
        alone = Scheduler(engine_snapshot(demo), side.scoring_configuration("default-scheduler"))
        assert PROFILES.decide_pod(alone, key).explanation.total.tolist() == case.explanation.total.tolist()
