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


def tried(user: User, base: Revision, change: PolicyEdit | None = None, **where: Any) -> TriedChange:
    content = apply_change(base, change) if change else Content(PACKED, {})
    return services.change_try(user=user, request=services.TryRequest(base, content, **where))


def test_a_small_cluster_is_answered_at_once_with_the_engines_numbers(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    with translation.override("ja"):
        found = tried(editor, revision, snapshot=small, pod="default/web-1")
    assert (found.state, found.job) == (JobState.SUCCEEDED, None)
    assert found.change == "NodeResourcesFit: LeastAllocated → MostAllocated"
    now, packed = load(revision.document).configuration, load(PACKED).configuration
    assert now is not None
    assert packed is not None
    objects, answer = snapshot_objects(small), selectors.answer_of(found)
    assert answer is not None
    taken = small.taken_at.timestamp()
    for place, part in (("pending", "pending"), ("all", "anew")):
        played = gate.prepared_of(objects, place=place, now=taken)
        both = play_both(played, now, packed, lambda *_: None, only_waiting=place == "pending")
        assert answer[part] == both.counts
        assert [one for one in answer["changes"] if one["of"] == place] == [
            {"of": place, **change} for change in both.changes
        ]
    assert answer["nodes"] == both.nodes()
    assert answer["measures"] == both.list_measures(at_end=True)
    assert answer["pod"] == {"of": "all", **(both.pod("default/web-1") or {})}
    assert found.sentence == (
        "There are no pending pods; placed anew, 4 of 6 pods would land on another node; "
        "1 node would be in use instead of 4"
    )
    assert AuditEntry.objects.filter(verb="change.tried", object_id=str(found.pk)).exists()


def test_a_further_change_finds_what_the_first_one_played_of_the_current_policy(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = selectors.answer_of(tried(editor, revision, snapshot=small))
    known: list[bool] = []

    def playing(*given: Any, **more: Any) -> Any:
        known.append(given[-1] is not None)
        return play_both(*given, **more)

    monkeypatch.setattr(services, "play_both", playing)
    assert selectors.answer_of(tried(editor, revision, snapshot=small)) == first
    tried(editor, seed_moves.classic(editor), PolicyEdit(release="1.9"), snapshot=small)
    assert known == [True, True, False, False]


def test_what_changes_nothing_is_refused(editor: User, small: Snapshot, revision: Revision) -> None:
    with pytest.raises(ApplicationError, match="does what default@1 does") as refused:
        tried(editor, revision, PolicyEdit(Content(f"# new\n{revision.document}", {})), snapshot=small)
    assert refused.value.errors[0]["path"] == "change"
    assert not TriedChange.objects.exists()


def test_a_document_that_kube_scheduler_refuses_is_refused_at_its_line(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    with pytest.raises(InvalidPolicyDocument) as refused:
        tried(editor, revision, PolicyEdit(Content("kind: KubeSchedulerConfiguration\n", {})), snapshot=small)
    assert refused.value.status == 422
    secret = PACKED + "extenders: [{urlPrefix: 'https://x', tlsConfig: {keyData: a2V5}}]\n"
    with pytest.raises(InvalidPolicyDocument, match="private key"):
        tried(editor, revision, PolicyEdit(Content(secret, {})), snapshot=small)


def test_the_cluster_decides_the_release_where_the_policy_names_none(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    small.cluster.server_version = "v1.35.1"
    small.cluster.save()
    found = tried(editor, revision, snapshot=small)
    assert (found.base_started["release"], found.started["release"], found.process) == ("1.35", "1.35", {})
    other = tried(editor, revision, PolicyEdit(release="1.36"), snapshot=small)
    assert other.process == {"release": "1.36"}
    assert other.change.startswith("kube-scheduler: 1.35.4 → 1.36.3; NodeDeclaredFeatures: off → on; ")


def test_what_takes_longer_is_answered_by_a_job_alike(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = selectors.answer_of(tried(editor, revision, snapshot=small))
    monkeypatch.setattr(services, "AT_ONCE", 0)
    found = tried(editor, revision, snapshot=small)
    assert (found.state, selectors.answer_of(found)) == (JobState.QUEUED, None)
    assert found.job is not None
    tasks.answer(str(found.job.pk))
    found.refresh_from_db()
    assert selectors.answer_of(found) == known
    assert Job.objects.get().result == {"tried": str(found.pk), "answer": found.sentence}
    assert not Job.objects.get().private


def test_a_job_ends_with_a_word_where_its_snapshot_is_gone(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    found = tried(editor, revision, snapshot=small)
    small.delete()
    found.refresh_from_db()
    with pytest.raises(Unprocessable, match="snapshot was deleted"):
        services.change_answer(tried_change=found, step=lambda *_: None)
    assert found.job is not None
    job_cancel(job=found.job, user=editor)
    found.refresh_from_db()
    assert found.state == JobState.CANCELLED


def test_a_change_is_tried_on_a_scenario_and_stays_as_private(editor: User, approver: User, revision: Revision) -> None:
    scenario = seed_runs.scenario(editor, shared=False)
    found = tried(editor, revision, WEIGHT, revision=scenario)
    answer = selectors.answer_of(found)
    assert answer is not None
    assert answer["pending"] is None
    assert answer["anew"]["pods"] == 21
    assert selectors.tried_get(editor, found.pk) == found
    with pytest.raises(Http404):
        selectors.tried_get(approver, found.pk)
    scenario.scenario.shared = True
    scenario.scenario.save()
    assert selectors.tried_get(approver, found.pk) == found


def test_a_change_is_saved_as_the_next_revision_or_as_a_draft(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    found = tried(editor, revision, snapshot=small)
    draft = services.change_save(user=editor, tried_change=found, name="packing-draft")
    assert (draft.policy.name, draft.number, draft.document) == ("packing-draft", 1, PACKED)
    assert draft.comment.startswith("Tried on small, ")
    saved = services.change_save(user=editor, tried_change=found, comment="why not")
    assert (saved.policy.name, saved.number, saved.document, saved.comment) == ("default", 2, PACKED, "why not")
    revision_save(policy=saved.policy, document=revision.document, author=editor, expected=2)
    with pytest.raises(PreconditionFailed):
        services.change_save(user=editor, tried_change=found)
    with pytest.raises(Conflict, match="taken"):
        services.change_save(user=editor, tried_change=found, name="default")


def test_a_change_of_a_policy_that_is_gone_can_still_be_a_draft(editor: User, small: Snapshot) -> None:
    base = seed_moves.classic(editor)
    found = tried(editor, base, PolicyEdit(release="1.9"), snapshot=small)
    Policy.objects.filter(name="filling").delete()
    found.refresh_from_db()
    with pytest.raises(Conflict, match="save the change as a draft"):
        services.change_save(user=editor, tried_change=found)
    draft = services.change_save(user=editor, tried_change=found, name="kept")
    assert draft.process == {"version": "1.9"}


def test_the_gate_judges_the_changed_policy_against_the_current_one(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    found = tried(editor, revision, snapshot=small)
    judged = services.change_judge(user=editor, tried_change=found, thresholds=limits.read_thresholds({"maxMoved": 3}))
    assert (judged.policy, judged.baseline, judged.snapshot) == ("default@1, changed", "default@1", small)
    assert judged.passed is False
    assert judged.verdict is not None
    answer = selectors.answer_of(found)
    assert answer is not None
    assert judged.verdict["counts"]["moved"] == answer["anew"]["moved"] == 4


def test_a_change_is_run_over_time_on_a_scenario_of_its_snapshot(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    found = tried(editor, revision, snapshot=small)
    first = services.change_compare(user=editor, tried_change=found)
    seed_runs.work_off()
    runs = list(first.runs.order_by("position"))
    assert [(one.label, one.state, one.policy) for one in runs] == [
        ("default@1", JobState.SUCCEEDED, revision),
        ("default@1, changed", JobState.SUCCEEDED, None),
    ]
    assert first.revision.snapshot == small
    again = services.change_compare(user=editor, tried_change=found)
    assert again.revision == first.revision  # it is made once
    assert Scenario.objects.filter(built_in=False).count() == 1
    other = seed_runs.scenario(editor)
    assert services.change_compare(user=editor, tried_change=found, scenario=other).revision == other


def test_a_day_of_collected_use_is_part_of_the_scenario(editor: User, revision: Revision) -> None:
    names = [f"node-{number:05d}" for number in range(3)]
    snapshot = Snapshot.objects.get(pk=seed.imported("measured", seed.cluster(3, 12), editor))
    seed.measured("measured", names, hours=25)
    found = tried(editor, revision, snapshot=snapshot)
    answer = selectors.answer_of(found)
    assert answer is not None
    use = [one for one in answer["measures"] if one["name"] == "use_skew_cpu_end"]
    assert use[0]["current"] > 0
    compared = services.change_compare(user=editor, tried_change=found)
    assert compared.revision.document["use"] == {"from": "history", "window": "24h"}
    assert compared.revision.document["run"] == {"until": "24h"}


def test_one_policy_may_take_the_place_of_another_even_of_another_kind(
    editor: User, small: Snapshot, revision: Revision
) -> None:
    classic = seed_moves.classic(editor)
    found = tried(editor, revision, PolicyEdit(Content.from_revision(classic)), snapshot=small)
    answer = selectors.answer_of(found)
    assert answer is not None
    assert answer["engine"]["changed"] != answer["engine"]["current"]
    assert found.change == "a classic Policy instead"
    assert policy_get("default").newest == 1
    assert revision_get(policy_get("default")) == revision


def test_who_waits_for_many_answers_waits(
    editor: User, small: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch, approver: User
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    for weight in range(2, 12):
        path = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
        tried(editor, revision, PolicyEdit(values={path: weight}), snapshot=small)
    with pytest.raises(Conflict, match="10 of your tried changes have no answer yet"):
        tried(editor, revision, snapshot=small)
    assert tried(approver, revision, snapshot=small).state == JobState.QUEUED
