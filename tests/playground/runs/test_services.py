"""Runs and comparisons: started as jobs, done once, cancelled, deleted, refused with a reason beside the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import Http404

from kschedweb.accounts.models import User
from kschedweb.engine.config import default_document
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.services import job_claim
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.runs import selectors, services, tasks
from kschedweb.playground.runs.models import Comparison, Difference, Run
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.nodemap.grouping import Grouping
from tests.support import seed_runs

pytestmark = pytest.mark.django_db


def test_a_run_is_a_job_and_what_came_of_it_is_kept(editor: User) -> None:
    run = seed_runs.run(editor)
    assert (run.state, run.label, run.seed) == ("succeeded", "default@1", 1)
    assert run.job is not None
    assert run.job.state == JobState.SUCCEEDED
    assert run.engine == CURRENT.engine
    outcome = selectors.load_outcome(run)
    assert outcome.end == run.virtual_seconds == 600.0
    zone = Grouping.from_dict(run.groups[0])
    assert (zone.label, zone.values) == ("zone", ["zone-0", "zone-1", "zone-2"])
    assert len(zone.codes) == len(outcome.nodes) == 6
    assert int((outcome.bound >= 0).sum()) == 21  # all of the 20, and the important one


def test_a_run_keeps_all_gates_of_its_kube_scheduler(editor: User) -> None:
    gates = {"StorageCapacityScoring": True, "VolumeLimitScaling": True, "OpportunisticBatching": False}
    process = {"release": "1.36", "featureGates": gates}
    policy_create(name="gated", document=default_document(), process=process, author=editor)
    started = services.run_start(user=editor, revision=seed_runs.scenario(editor), policy="gated")
    seed_runs.work_off()
    run = Run.objects.get(pk=started.pk)
    assert run.process == process
    assert all(f"{gate}={str(on).lower()}" in run.engine for gate, on in gates.items())
    Run._meta.get_field("engine").clean(run.engine, run)  # SQLite does not say that a text is too long


def test_a_run_keeps_the_release_that_nothing_named(editor: User) -> None:
    run = seed_runs.run(editor)
    assert run.process == {"release": CURRENT.name}
    assert selectors.load_configuration(run).release is CURRENT
    run.process = {}  # as runs were stored when there was one release
    assert selectors.load_configuration(run).release is RELEASES["1.36"]


def test_a_run_delivered_twice_is_played_once(editor: User) -> None:
    run = seed_runs.run(editor)
    steps: list[str] = []
    services.run_do(run=run, step=lambda text, completed, total: steps.append(text))
    assert steps == []
    assert Run.objects.get().ended_at == run.ended_at


def test_progress_counts_pods_and_a_cancelled_run_keeps_nothing(editor: User) -> None:
    run = services.run_start(user=editor, revision=seed_runs.scenario(editor, pods=400), policy="default")
    steps: list[tuple[str, int, int]] = []

    def stop(text: str, completed: int, total: int) -> None:
        steps.append((text, completed, total))
        if completed:
            raise Cancelled

    with pytest.raises(Cancelled):
        services.run_do(run=run, step=stop)
    text, completed, total = steps[-1]
    assert text == "Pods decided:"
    assert 0 < completed < total == 401
    assert Run.objects.get().ended_at is None


def test_a_worker_that_died_costs_its_run_only_and_another_starts_it_again(editor: User) -> None:
    comparison = services.comparison_start(
        user=editor, revision=seed_runs.scenario(editor), policies=["default", seed_runs.packed(editor)], seeds=[1]
    )
    lost_job = comparison.runs.get(position=0).job
    assert lost_job is not None
    assert lost_job.restartable
    assert job_claim(str(lost_job.pk)) is not None  # and the worker that claimed it is gone
    seed_runs.work_off()
    assert Run.objects.filter(ended_at__isnull=False).count() == 1
    Job.objects.filter(pk=lost_job.pk).update(state=JobState.QUEUED)  # as reconciliation does
    seed_runs.work_off()
    assert Run.objects.filter(ended_at__isnull=False).count() == 2
    assert Difference.objects.get().counts["pods"] == 21


def test_a_comparison_runs_every_policy_with_every_seed_and_compares_each_pair_once(editor: User) -> None:
    comparison = seed_runs.comparison(editor, seeds=[1, 2])
    rows = [(run.position, run.label, run.seed) for run in comparison.runs.order_by("position", "seed")]
    assert rows == [(0, "default@1", 1), (0, "default@1", 2), (1, "packed@1", 1), (1, "packed@1", 2)]
    differences = Difference.objects.order_by("run__seed")
    assert [
        (difference.run.seed, difference.against.seed, difference.against.position) for difference in differences
    ] == [(1, 1, 0), (2, 2, 0)]
    differing_pods = selectors.load_difference(differences[0])
    reference, packed_outcome = (
        selectors.load_outcome(comparison.runs.get(position=place, seed=1)) for place in (0, 1)
    )
    ends = [{pod: outcome.node[row] for pod, row in outcome.index.items()} for outcome in (reference, packed_outcome)]
    assert {pod["pod"] for pod in differing_pods if pod["what"] == "moved"} == {
        pod for pod in ends[0] if ends[0][pod] != ends[1][pod] and min(ends[0][pod], ends[1][pod]) >= 0
    }
    assert differences[0].counts["moved"] == len([pod for pod in differing_pods if pod["what"] == "moved"]) > 0


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"policies": ["default"]}, "policies", "from 2 to 8"),
        ({"policies": ["default", "default@1"]}, "policies", "from 2 to 8"),
        ({"policies": ["default", "best"]}, "policies", "There is no policy best"),
        ({"policies": ["default", "packed@9"]}, "policies", "There is no policy packed@9"),
        ({"seeds": []}, "seeds", "from 1 to 10"),
        ({"seeds": list(range(11))}, "seeds", "from 1 to 10"),
        ({"seeds": [-1]}, "seeds", "whole numbers, 0 or more"),
        ({"seeds": [2**31]}, "seeds", "whole numbers, 0 or more"),
    ],
)
def test_what_cannot_be_compared_is_refused_beside_its_field(
    editor: User, changes: dict[str, Any], field: str, message: str
) -> None:
    fields: dict[str, Any] = {"policies": ["default", seed_runs.packed(editor)], "seeds": [1]}
    with pytest.raises(ApplicationError) as caught:
        services.comparison_start(user=editor, revision=seed_runs.scenario(editor), **{**fields, **changes})
    assert caught.value.errors[0]["path"] == field
    assert message in caught.value.detail
    assert not Comparison.objects.exists()
    assert not Run.objects.exists()


def test_a_policy_that_is_not_saved_can_be_run_and_a_wrong_one_is_refused(editor: User) -> None:
    revision = seed_runs.scenario(editor)
    run = services.run_start(user=editor, revision=revision, document=seed_runs.PACKED, label="proposed")
    seed_runs.work_off()
    assert (run.label, run.policy) == ("proposed", None)
    assert Run.objects.get().state == "succeeded"
    with pytest.raises(ApplicationError, match="proposed: "):
        services.run_start(user=editor, revision=revision, document="kind: Pod", label="proposed")


def test_a_policy_with_a_token_is_not_run_since_its_document_is_kept(editor: User) -> None:
    token = "a-token-that-nobody-reads"
    provider = {"type": "Prometheus", "address": "http://192.0.2.1", "token": token}
    plugin_config = {"name": "LoadVariationRiskBalancing", "args": {"metricProvider": provider}}
    plugins = {"score": {"enabled": [{"name": plugin_config["name"]}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": [plugin_config]}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with pytest.raises(ApplicationError, match="contains a private key or a token") as caught:
        services.run_start(
            user=editor, revision=seed_runs.scenario(editor), document=json.dumps({**head, "profiles": [profile]})
        )
    assert caught.value.errors[0]["path"] == "document"
    assert token not in caught.value.detail
    assert not Run.objects.exists()


def test_where_nothing_is_drawn_at_random_the_first_seed_is_run_alone(editor: User) -> None:
    for is_random, expected in ((False, [3]), (True, [3, 1, 2])):
        comparison = services.comparison_start(
            user=editor,
            revision=seed_runs.scenario(editor, drawn=is_random),
            policies=["default", seed_runs.packed(editor)],
            seeds=[3, 1, 2],
        )
        assert sorted({run.seed for run in comparison.runs.all()}) == sorted(expected)


def test_cancelling_a_comparison_cancels_what_has_not_ended(editor: User) -> None:
    comparison = services.comparison_start(
        user=editor,
        revision=seed_runs.scenario(editor, drawn=True),
        policies=["default", seed_runs.packed(editor)],
        seeds=[1, 2],
    )
    first = comparison.runs.get(position=0, seed=1).job
    assert first is not None
    tasks.run(str(first.pk))
    assert services.comparison_cancel(user=editor, comparison=comparison) == 3
    assert seed_runs.work_off() == 0
    assert sorted(run.state for run in comparison.runs.select_related("job")) == ["cancelled"] * 3 + ["succeeded"]


def test_nothing_that_goes_on_is_deleted_and_everything_else_with_its_runs(editor: User) -> None:
    comparison = services.comparison_start(
        user=editor, revision=seed_runs.scenario(editor), policies=["default", seed_runs.packed(editor)], seeds=[1]
    )
    with pytest.raises(Conflict, match="cancel it first"):
        services.comparison_delete(user=editor, comparison=comparison)
    seed_runs.work_off()
    with pytest.raises(Conflict, match="belongs to a comparison"):
        services.run_delete(user=editor, run=comparison.runs.all()[0])
    services.comparison_delete(user=editor, comparison=comparison)
    assert not Run.objects.exists()
    assert not Difference.objects.exists()


def test_only_who_may_read_the_scenario_sees_its_runs(editor: User, viewer: User, admin: User) -> None:
    hidden = seed_runs.run(editor, seed_runs.scenario(editor, "mine", shared=False))
    with pytest.raises(Http404, match="not shared with you"):
        selectors.run_get(viewer, hidden.pk)
    assert selectors.run_get(editor, hidden.pk) == hidden == selectors.run_get(admin, hidden.pk)
    assert not selectors.run_list(viewer).exists()
    hidden.revision.scenario.shared = True
    hidden.revision.scenario.save()
    assert selectors.run_get(viewer, hidden.pk) == hidden
