"""Rollouts: the people who may do them, their preview, and the changes that alter nothing that runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters import services as clusters
from kschedweb.decisions import services as playground
from kschedweb.decisions import snapshots
from kschedweb.decisions.editing import effect
from kschedweb.decisions.inquiring import decision_questions
from kschedweb.decisions.inquiring.tasks import answer
from kschedweb.decisions.models import Question
from kschedweb.engine.releases import load
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.extender.responder import read_settings
from kschedweb.live.schedulers import rollout, selectors, services
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.running.host import key_of
from kschedweb.live.shadow.run import make_run as shadow_run
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.services import policy_create, revision_restore, revision_save
from kschedweb.web.errors import Conflict, NotFound
from tests.support.html import elements, html_of, levels

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster

pytestmark = pytest.mark.django_db
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SPREAD = HEAD + "profiles: [{schedulerName: batch}]\n"
FIT = "{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}"
PACK = HEAD + f"profiles: [{{schedulerName: batch, pluginConfig: [{FIT}]}}]\n"
HALF = HEAD + "profiles: [{schedulerName: batch, percentageOfNodesToScore: 50}]\n"


@pytest.fixture
def policy(admin: User) -> Policy:
    return policy_create(name="packed", document=SPREAD, author=admin)


@pytest.fixture
def batch(connected: Cluster, policy: Policy, admin: User) -> LiveScheduler:
    """Schedules by revision 1 of ``policy``."""
    return services.live_create(
        user=admin, cluster=connected, scheduler_name="batch", policy=policy, mode=Mode.SCHEDULING
    )


@pytest.fixture
def second(batch: LiveScheduler, policy: Policy, editor: User) -> Revision:
    """Revision that an editor saved after ``batch`` was made."""
    return revision_save(policy=policy, document=PACK, author=editor, expected=1)


def at_work(live: LiveScheduler) -> Revision:
    """Return the revision that its host process would run now."""
    return selectors.revision_in_force(selectors.list_running().get(pk=live.pk))


def body(revision: Revision, expected: Revision) -> dict[str, Any]:
    before = {"policy": expected.policy.name, "revision": expected.number}
    return {"policy": revision.policy.name, "revision": revision.number, "expected": before}


def test_what_editors_save_and_restore_changes_nothing_that_runs(
    batch: LiveScheduler, policy: Policy, editor: User
) -> None:
    first, key = at_work(batch), key_of(batch)
    revision_save(policy=policy, document=PACK, author=editor, expected=1)
    revision_save(policy=policy, document=HALF, author=editor, expected=2)
    revision_restore(policy=policy, number=2, author=editor, expected=3)
    row = selectors.list_running().get(pk=batch.pk)
    assert selectors.live_get(batch.pk).newest == 4
    assert (at_work(batch), key_of(row)) == (first, key)


def test_a_shadow_and_an_extender_run_what_was_rolled_out(batch: LiveScheduler, second: Revision, admin: User) -> None:
    Endpoint.objects.create(scheduler=batch)
    first = at_work(batch)
    for revision, expected in ((first, first), (second, first)):
        services.live_roll_out(user=admin, live=batch, revision=revision, expected=expected)
        row = selectors.live_get(batch.pk)
        settings = read_settings(batch.pk)
        assert settings is not None
        assert (shadow_run(row, "test").revision, settings.revision) == (revision.pk, revision)


def test_a_roll_out_and_a_roll_back_are_in_the_audit_trail(batch: LiveScheduler, second: Revision, admin: User) -> None:
    first, key = at_work(batch), key_of(batch)
    services.live_roll_out(user=admin, live=batch, revision=second, expected=first)
    assert at_work(batch) == second
    assert key_of(selectors.live_get(batch.pk)) != key  # the process that hosts it begins another run
    services.live_roll_out(user=admin, live=batch, revision=first, expected=second)
    entries = AuditEntry.objects.filter(verb="live.rolled-out").order_by("pk")
    assert [(entry.actor_name, entry.details) for entry in entries] == [
        (admin.username, {"from": "packed revision 1", "to": "packed revision 2"}),
        (admin.username, {"from": "packed revision 2", "to": "packed revision 1"}),
    ]


def test_who_saw_another_revision_at_work_rolls_nothing_out(
    batch: LiveScheduler, second: Revision, policy: Policy, admin: User
) -> None:
    first = at_work(batch)
    third = revision_save(policy=policy, document=HALF, author=admin, expected=2)
    services.live_roll_out(user=admin, live=batch, revision=third, expected=first)
    with pytest.raises(Conflict, match="batch runs packed revision 3 by now, not packed revision 1"):
        services.live_roll_out(user=admin, live=batch, revision=second, expected=first)
    assert at_work(batch) == third
    # Another policy's revision of the same number is another revision.
    other = policy_create(name="other", document=SPREAD, author=admin).revisions.get()
    with pytest.raises(Conflict):
        services.live_roll_out(user=admin, live=batch, revision=second, expected=other)
    batch.delete()
    with pytest.raises(NotFound):
        services.live_roll_out(user=admin, live=batch, revision=second, expected=third)


def test_a_row_of_an_earlier_release_runs_what_was_the_newest_then(
    batch: LiveScheduler, second: Revision, admin: User
) -> None:
    """A process of that release may still write rows without a revision while others are replaced."""
    first = batch.revision
    assert first is not None
    Revision.objects.filter(pk=second.pk).update(created_at=timezone.now() + timedelta(seconds=1))
    LiveScheduler.objects.filter(pk=batch.pk).update(revision=None)
    assert at_work(batch) == first
    services.live_change(user=admin, live=batch, qps=7)  # now the row is younger than the second revision
    LiveScheduler.objects.filter(pk=batch.pk).update(changed_at=timezone.now() + timedelta(minutes=1))
    assert at_work(batch) == first


def test_an_editor_cannot_change_what_runs(
    batch: LiveScheduler, second: Revision, client_as: Callable[[str], Client], api_as: Callable[[str], APIClient]
) -> None:
    first = at_work(batch)
    client, api = client_as("editor"), api_as("editor")
    page, api_path = f"/live/{batch.pk}/", f"/api/v1/live/{batch.pk}/"
    form = {"policy": "packed", "revision": "2", "expected": str(first.pk)}
    assert client.get(f"{page}rollout/?revision=2").status_code == 403
    assert client.post(f"{page}rollout/", form).status_code == 403
    assert client.post(f"{page}change/", form).status_code == 403
    assert api.get(f"{api_path}rollout/").status_code == 403
    assert api.post(f"{api_path}rollout/", body(second, first)).status_code == 403
    assert api.patch(api_path, {"revision": 2}).status_code == 403
    assert api.delete(api_path).status_code == 403
    new = {"cluster": "here", "scheduler_name": "mine", "policy": "packed", "mode": "scheduling"}
    assert api.post("/api/v1/live/", new).status_code == 403
    # What editors may do leaves alone what runs.
    assert api.delete("/api/v1/policies/packed/").status_code == 409
    new_policy = {"name": "packed", "document": HALF}
    assert api.post("/api/v1/policies/", new_policy).status_code == 409
    assert api.post("/api/v1/policies/", new_policy | {"name": "imported"}).status_code == 201
    restored = api.post("/api/v1/policies/packed/revisions/1/restore/", headers={"If-Match": '"2"'})
    assert restored.status_code == 201, restored.data
    assert client.post("/policies/packed/revisions/2/restore/", {"expected": "3"}).status_code == 302
    for action in ("pause", "resume", "reload"):
        assert api.post(f"{api_path}{action}/").status_code == 200
    assert Policy.objects.get(name="packed").revisions.count() == 4
    assert at_work(batch) == first
    assert not AuditEntry.objects.filter(verb="live.rolled-out").exists()


def test_the_page_says_what_is_newer_to_everybody_and_leads_admins_to_it(
    batch: LiveScheduler, client_as: Callable[[str], Client], policy: Policy, editor: User
) -> None:
    address, link = f"/live/{batch.pk}/", f"/live/{batch.pk}/rollout/"

    def newer(role: str, at: str) -> list[str]:
        return [element["data-newer"] for element in elements(client_as(role).get(at), "[data-newer]")]

    assert newer("admin", address) == newer("viewer", "/live/") == []
    revision_save(policy=policy, document=PACK, author=editor, expected=1)
    assert newer("admin", f"{address}now/") == newer("viewer", address) == newer("viewer", "/live/") == ["2"]
    assert elements(client_as("admin").get(f"{address}now/"), f"[data-newer=2] a[href={link}]")
    page = client_as("viewer").get(address)
    assert elements(page, ".lead a[href=/policies/packed/?revision=1]")
    assert link not in html_of(page)


def test_an_admin_reviews_and_rolls_out(
    batch: LiveScheduler, second: Revision, client_as: Callable[[str], Client]
) -> None:
    client, address, first = client_as("admin"), f"/live/{batch.pk}/rollout/", at_work(batch)
    page = client.get(address)
    review = page.context["review"]
    assert (review.before, review.after, review.problem) == (first, second, None)
    assert "LeastAllocated" in html_of(page)
    assert "MostAllocated" in html_of(page)
    assert elements(page, f"input[name=expected][value={first.pk}]")
    assert elements(page, "form[method=post] button.danger")
    form = {"policy": "packed", "revision": "2", "expected": str(first.pk)}
    answer = client.post(address, form)
    assert (answer.status_code, answer["Location"]) == (302, f"/live/{batch.pk}/")
    assert at_work(batch) == second
    assert levels(client.get(f"/live/{batch.pk}/")) == ["success"]
    page_after = client.get(address)
    assert page_after.context["review"].before == second
    assert not elements(page_after, "input[name=expected]")
    # Whoever still has the page open is shown what is at work now, and has to look again.
    stale = client.post(address, form | {"revision": "1"})
    assert stale.status_code == 409
    assert stale.context["refused"].detail in html_of(stale)
    assert elements(stale, f"input[name=expected][value={second.pk}]")
    assert client.post(address, {"policy": "packed", "revision": "1"}).status_code == 400
    assert client.get(f"{address}?revision=9").status_code == 400
    assert at_work(batch) == second


def test_pods_that_would_go_elsewhere_are_told_with_both_nodes_and_what_moves_them(
    admin: User,
    policy: Policy,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], APIClient],
    monkeypatch: pytest.MonkeyPatch,
    plain_demo: None,
) -> None:
    monkeypatch.setattr(rollout, "POD_LIMIT", 20)
    # How far it gets in time is another matter.
    monkeypatch.setattr(rollout, "compute_effect", partial(effect.compute_effect, seconds=600.0))
    demo = clusters.demo_load(user=admin)
    live = services.live_create(user=admin, cluster=demo, scheduler_name="default-scheduler", policy=policy)
    second = revision_save(policy=policy, document=PACK, author=admin, expected=1)
    review = api_as("admin").get(f"/api/v1/live/{live.pk}/rollout/").data
    assert (review["before"]["revision"], review["after"]["revision"], review["problem"]) == (1, 2, "")
    assert [(change["before"], change["after"]) for change in review["changes"]] == [
        ("LeastAllocated", "MostAllocated")
    ]
    moves = review["moves"]
    assert (moves["asked"], moves["failed"]) == (20, [])
    assert moves["pods"] > 20
    assert moves["moved"]
    snapshot = demo.snapshots.get()
    old, new = (load(document.replace("batch", "default-scheduler")).configuration for document in (SPREAD, PACK))
    assert old is not None
    assert new is not None
    for pod in moves["moved"]:
        key = f"{pod['namespace']}/{pod['name']}"
        answers = [playground.explain_with(snapshot, key, side) for side in (old, new)]
        assert [pod["before"], pod["after"]] == [answer.node for answer in answers]
        assert pod["plugin"] == "NodeResourcesFit"
        assert pod["lead"] > 0
    page = client_as("admin").get(f"/live/{live.pk}/rollout/?effect=shown")
    shown_effect = page.context["moves"].effect
    assert (len(shown_effect.moved), shown_effect.asked, shown_effect.pods) == (len(moves["moved"]), 20, moves["pods"])
    assert f"{len(moves['moved'])} of 20 pods of default-scheduler would go elsewhere." in html_of(page)
    assert "<strong>NodeResourcesFit</strong> prefers the new node by" in html_of(page)
    services.live_roll_out(user=admin, live=live, revision=second, expected=policy.revisions.get(number=1))
    assert not api_as("admin").get(f"/api/v1/live/{live.pk}/rollout/").data["moves"]["moved"]


def test_a_job_asks_all_pods_and_those_of_a_large_cluster(
    admin: User,
    policy: Policy,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], APIClient],
    monkeypatch: pytest.MonkeyPatch,
    plain_demo: None,
) -> None:
    monkeypatch.setattr(rollout, "compute_effect", partial(effect.compute_effect, seconds=600.0))
    monkeypatch.setattr(decision_questions, "MOST_SHOWN", 100)
    demo = clusters.demo_load(user=admin)
    live = services.live_create(user=admin, cluster=demo, scheduler_name="default-scheduler", policy=policy)
    revision_save(policy=policy, document=PACK, author=admin, expected=1)
    api, page, address = api_as("admin"), client_as("admin"), f"/api/v1/live/{live.pk}/rollout/"
    some = api.get(address).json()["moves"]
    (link,) = [
        link_element
        for link_element in elements(page.get(f"/live/{live.pk}/rollout/?effect=shown"), "#effect a")
        if "effect=all" in link_element.attributes["href"]
    ]
    accepted = api.get(address, {"all": "true"})
    assert (accepted.status_code, accepted["Retry-After"]) == (202, "2")
    waits = page.get(link.attributes["href"].partition("#")[0])
    (part,) = elements(waits, "#effect #waits")
    assert Question.objects.count() == 1  # whoever asks
    assert client_as("editor").get(part.attributes["hx-get"]).status_code == 404
    assert api_as("editor").get(accepted["Location"]).status_code == 404
    answer(str(Question.objects.get().job_id))
    moves = api.get(address, {"all": "true"}).json()["moves"]
    assert moves["asked"] == moves["pods"] == some["pods"] > some["asked"]
    both = min(len(some["moved"]), 100)
    assert moves["moved"][:both] == some["moved"][:both] != []
    opened = page.get(part.attributes["hx-get"], headers={"HX-Request": "true"})
    assert opened["HX-Redirect"].startswith(f"/live/{live.pk}/rollout/")
    shown_page = page.get(opened["HX-Redirect"])
    assert f"{moves['moving']} of {moves['asked']} pods of default-scheduler would go elsewhere" in html_of(shown_page)
    assert len(moves["moved"]) == 100 < moves["moving"]  # so many are listed
    playground.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    assert api.get(address).json()["moves"] == moves  # nothing is read here: what the job found is the answer


def test_a_program_rolls_out_once_and_is_told_of_others(
    batch: LiveScheduler, second: Revision, api_as: Callable[[str], APIClient]
) -> None:
    api, address, first = api_as("admin"), f"/api/v1/live/{batch.pk}/", at_work(batch)
    for _ in range(2):
        answer = api.post(f"{address}rollout/", body(second, first), headers={"Idempotency-Key": "one"})
        assert (answer.status_code, answer.data["revision"]) == (200, 2)
    assert AuditEntry.objects.filter(verb="live.rolled-out").count() == 1
    late = api.post(f"{address}rollout/", body(first, first))
    assert (late.status_code, late["Content-Type"]) == (409, "application/problem+json")
    assert api.get(address).data["revision"] == 2
    for wrong, path in (
        ({"revision": 9}, "revision"),
        ({"policy": "nowhere"}, "policy"),
        ({"expected": {"policy": "packed", "revision": 9}}, "expected.revision"),
        ({"expected": None}, "expected"),
    ):
        refused = api.post(f"{address}rollout/", body(second, first) | wrong)
        assert refused.status_code == 400
        assert [error["path"] for error in refused.json()["errors"]] == [path]
    for name in ("policy", "revision"):
        refused = api.patch(address, {name: 1})
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, name)


def test_a_policy_that_could_not_run_is_not_rolled_out(
    batch: LiveScheduler, admin: User, client_as: Callable[[str], Client], api_as: Callable[[str], APIClient]
) -> None:
    first = at_work(batch)
    two = HEAD + "profiles: [{schedulerName: calm}, {schedulerName: busy}]\n"
    classic = '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "GeneralPredicates"}]}'
    for name, document, reason in (
        ("two", two, "several profiles, none for batch"),
        ("old", classic, "classic policy"),
    ):
        other = policy_create(name=name, document=document, author=admin).revisions.get()
        review = api_as("admin").get(f"/api/v1/live/{batch.pk}/rollout/", {"policy": name}).data
        assert reason in review["problem"]
        assert review["moves"] is None
        refused = api_as("admin").post(f"/api/v1/live/{batch.pk}/rollout/", body(other, first))
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "policy")
    page = client_as("admin").get(f"/live/{batch.pk}/rollout/?policy=two")
    assert elements(page, "#problem")
    assert not elements(page, "form[method=post] button.danger")
    assert at_work(batch) == first
