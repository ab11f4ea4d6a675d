"""Tried changes: answered at once or by a job, saved, judged, run over time; seen by those alone who may."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import Http404
from django.utils import translation

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.releases import load
from kschedweb.engine.studies.gate import gate
from kschedweb.engine.studies.gate import thresholds as limits
from kschedweb.engine.studies.trying.policy_effect import play_both
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.services import job_cancel
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.playground.trying import selectors, services, tasks
from kschedweb.playground.trying.changes import Content, PolicyEdit, apply_change
from kschedweb.playground.trying.models import TriedChange
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.policies.services import InvalidPolicyDocument, revision_save
from kschedweb.web.errors import ApplicationError, Conflict, PreconditionFailed, Unprocessable
from tests.decisions.conftest import revision
from tests.engine.studies.gates import PACKED
from tests.support import seed, seed_moves, seed_runs

__all__ = ["revision"]
pytestmark = pytest.mark.django_db
WEIGHT = PolicyEdit(values={"profiles[0].plugins.score.enabled[NodeResourcesFit].weight": 9})


def try_change(user: User, base: Revision, change: PolicyEdit | None = None, **target: Any) -> TriedChange:
    content = apply_change(base, change) if change else Content(PACKED, {})
    return services.change_try(user=user, request=services.TryRequest(base, content, **target))


def test_a_small_cluster_is_answered_at_once_with_the_engines_numbers(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    with translation.override("ja"):
        tried_change = try_change(editor, revision, snapshot=small, pod="default/web-1")
    assert (tried_change.state, tried_change.job) == (JobState.SUCCEEDED, None)
    assert tried_change.change == "NodeResourcesFit: LeastAllocated → MostAllocated"
    now, packing_configuration = load(revision.document).configuration, load(PACKED).configuration
    assert now is not None
    assert packing_configuration is not None
    objects, answer = snapshot_objects(small), selectors.answer_of(tried_change)
    assert answer is not None
    taken_at = small.taken_at.timestamp()
    for place, part in (("pending", "pending"), ("all", "anew")):
        prepared = gate.prepared_of(objects, place=place, now=taken_at)
        effect = play_both(prepared, now, packing_configuration, lambda *_: None, only_waiting=place == "pending")
        assert answer[part] == effect.counts
        assert [change for change in answer["changes"] if change["of"] == place] == [
            {"of": place, **change} for change in effect.changes
        ]
    assert answer["nodes"] == effect.nodes()
    assert answer["measures"] == effect.list_measures(at_end=True)
    assert answer["pod"] == {"of": "all", **(effect.pod("default/web-1") or {})}
    assert tried_change.sentence == (
        "There are no pending pods; scheduled again, 4 of 6 pods would land on another node; "
        "1 node would be in use instead of 4"
    )
    assert AuditEntry.objects.filter(verb="change.tried", object_id=str(tried_change.pk)).exists()


def test_a_further_change_finds_what_the_first_one_played_of_the_current_policy(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = selectors.answer_of(try_change(editor, revision, snapshot=small))
    has_current_outcome: list[bool] = []

    def playing(*arguments: Any, **options: Any) -> Any:
        has_current_outcome.append(arguments[-1] is not None)
        return play_both(*arguments, **options)

    monkeypatch.setattr(services, "play_both", playing)
    assert selectors.answer_of(try_change(editor, revision, snapshot=small)) == first
    try_change(editor, seed_moves.classic(editor), PolicyEdit(release="1.9"), snapshot=small)
    assert has_current_outcome == [True, True, False, False]


def test_what_changes_nothing_is_refused(editor: User, small: Snapshot, revision: Revision) -> None:
    with pytest.raises(ApplicationError, match="does what default@1 does") as caught:
        try_change(editor, revision, PolicyEdit(Content(f"# new\n{revision.document}", {})), snapshot=small)
    assert caught.value.errors[0]["path"] == "change"
    assert not TriedChange.objects.exists()


def test_a_document_that_kube_scheduler_refuses_is_refused_at_its_line(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    with pytest.raises(InvalidPolicyDocument) as caught:
        try_change(editor, revision, PolicyEdit(Content("kind: KubeSchedulerConfiguration\n", {})), snapshot=small)
    assert caught.value.status == 422
    secret = PACKED + "extenders: [{urlPrefix: 'https://x', tlsConfig: {keyData: a2V5}}]\n"
    with pytest.raises(InvalidPolicyDocument, match="private key"):
        try_change(editor, revision, PolicyEdit(Content(secret, {})), snapshot=small)


def test_the_cluster_decides_the_release_where_the_policy_names_none(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    small.cluster.server_version = "v1.35.1"
    small.cluster.save()
    tried_change = try_change(editor, revision, snapshot=small)
    assert (tried_change.base_started["release"], tried_change.started["release"], tried_change.process) == (
        "1.35",
        "1.35",
        {},
    )
    changed_release = try_change(editor, revision, PolicyEdit(release="1.36"), snapshot=small)
    assert changed_release.process == {"release": "1.36"}
    assert changed_release.change.startswith("kube-scheduler: 1.35.4 → 1.36.3; NodeDeclaredFeatures: off → on; ")


def test_what_takes_longer_is_answered_by_a_job_alike(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_answer = selectors.answer_of(try_change(editor, revision, snapshot=small))
    monkeypatch.setattr(services, "AT_ONCE", 0)
    tried_change = try_change(editor, revision, snapshot=small)
    assert (tried_change.state, selectors.answer_of(tried_change)) == (JobState.QUEUED, None)
    assert tried_change.job is not None
    tasks.answer(str(tried_change.job.pk))
    tried_change.refresh_from_db()
    assert selectors.answer_of(tried_change) == expected_answer
    assert Job.objects.get().result == {"tried": str(tried_change.pk), "answer": tried_change.sentence}
    assert not Job.objects.get().private


def test_a_job_ends_with_a_word_where_its_snapshot_is_gone(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    tried_change = try_change(editor, revision, snapshot=small)
    small.delete()
    tried_change.refresh_from_db()
    with pytest.raises(Unprocessable, match="snapshot was deleted"):
        services.KIND.answer(tried_change, lambda *_: None)
    assert tried_change.job is not None
    job_cancel(job=tried_change.job, user=editor)
    tried_change.refresh_from_db()
    assert tried_change.state == JobState.CANCELLED


def test_a_change_is_tried_on_a_scenario_and_stays_as_private(editor: User, approver: User, revision: Revision) -> None:
    scenario = seed_runs.scenario(editor, shared=False)
    tried_change = try_change(editor, revision, WEIGHT, revision=scenario)
    answer = selectors.answer_of(tried_change)
    assert answer is not None
    assert answer["pending"] is None
    assert answer["anew"]["pods"] == 21
    assert selectors.tried_get(editor, tried_change.pk) == tried_change
    with pytest.raises(Http404):
        selectors.tried_get(approver, tried_change.pk)
    scenario.scenario.shared = True
    scenario.scenario.save()
    assert selectors.tried_get(approver, tried_change.pk) == tried_change


def test_a_change_is_saved_as_the_next_revision_or_as_a_draft(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    tried_change = try_change(editor, revision, snapshot=small)
    draft = services.change_save(user=editor, tried_change=tried_change, name="packing-draft")
    assert (draft.policy.name, draft.number, draft.document) == ("packing-draft", 1, PACKED)
    assert draft.comment.startswith("Tried on small, ")
    saved_revision = services.change_save(user=editor, tried_change=tried_change, comment="why not")
    assert (saved_revision.policy.name, saved_revision.number, saved_revision.document, saved_revision.comment) == (
        "default",
        2,
        PACKED,
        "why not",
    )
    revision_save(policy=saved_revision.policy, document=revision.document, author=editor, expected=2)
    with pytest.raises(PreconditionFailed):
        services.change_save(user=editor, tried_change=tried_change)
    with pytest.raises(Conflict, match="taken"):
        services.change_save(user=editor, tried_change=tried_change, name="default")


def test_a_change_of_a_policy_that_is_gone_can_still_be_a_draft(editor: User, small: Snapshot) -> None:
    base = seed_moves.classic(editor)
    tried_change = try_change(editor, base, PolicyEdit(release="1.9"), snapshot=small)
    Policy.objects.filter(name="filling").delete()
    tried_change.refresh_from_db()
    with pytest.raises(Conflict, match="save the change as a draft"):
        services.change_save(user=editor, tried_change=tried_change)
    draft = services.change_save(user=editor, tried_change=tried_change, name="kept")
    assert draft.process == {"version": "1.9"}


def test_the_gate_judges_the_changed_policy_against_the_current_one(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    tried_change = try_change(editor, revision, snapshot=small)
    gate_row = services.change_judge(
        user=editor, tried_change=tried_change, thresholds=limits.read_thresholds({"maxMoved": 3})
    )
    assert (gate_row.policy, gate_row.baseline, gate_row.snapshot) == ("default@1, changed", "default@1", small)
    assert gate_row.passed is False
    assert gate_row.verdict is not None
    answer = selectors.answer_of(tried_change)
    assert answer is not None
    assert gate_row.verdict["counts"]["moved"] == answer["anew"]["moved"] == 4


def test_a_change_is_run_over_time_on_a_scenario_of_its_snapshot(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    tried_change = try_change(editor, revision, snapshot=small)
    first = services.change_compare(user=editor, tried_change=tried_change)
    seed_runs.work_off()
    runs = list(first.runs.order_by("position"))
    assert [(run.label, run.state, run.policy) for run in runs] == [
        ("default@1", JobState.SUCCEEDED, revision),
        ("default@1, changed", JobState.SUCCEEDED, None),
    ]
    assert first.revision.snapshot == small
    second = services.change_compare(user=editor, tried_change=tried_change)
    assert second.revision == first.revision  # it is made once
    assert Scenario.objects.filter(built_in=False).count() == 1
    foreign_scenario = seed_runs.scenario(editor)
    assert (
        services.change_compare(user=editor, tried_change=tried_change, scenario=foreign_scenario).revision
        == foreign_scenario
    )


def test_a_day_of_collected_use_is_part_of_the_scenario(editor: User, revision: Revision) -> None:
    names = [f"node-{number:05d}" for number in range(3)]
    snapshot = Snapshot.objects.get(pk=seed.imported("measured", seed.cluster(3, 12), editor))
    seed.measured("measured", names, hours=25)
    tried_change = try_change(editor, revision, snapshot=snapshot)
    answer = selectors.answer_of(tried_change)
    assert answer is not None
    use = [measure for measure in answer["measures"] if measure["name"] == "use_skew_cpu_end"]
    assert use[0]["current"] > 0
    comparison = services.change_compare(user=editor, tried_change=tried_change)
    assert comparison.revision.document["use"] == {"from": "history", "window": "24h"}
    assert comparison.revision.document["run"] == {"until": "24h"}


def test_one_policy_may_take_the_place_of_another_even_of_another_kind(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    classic = seed_moves.classic(editor)
    tried_change = try_change(editor, revision, PolicyEdit(Content.from_revision(classic)), snapshot=small)
    answer = selectors.answer_of(tried_change)
    assert answer is not None
    assert answer["engine"]["changed"] != answer["engine"]["current"]
    assert tried_change.change == "a classic Policy instead"
    assert policy_get("default").newest == 1
    assert revision_get(policy_get("default")) == revision


def test_who_waits_for_many_answers_waits(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch, approver: User
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    for weight in range(2, 12):
        path = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
        try_change(editor, revision, PolicyEdit(values={path: weight}), snapshot=small)
    with pytest.raises(Conflict, match="10 of your tried changes have no answer yet"):
        try_change(editor, revision, snapshot=small)
    assert try_change(approver, revision, snapshot=small).state == JobState.QUEUED
