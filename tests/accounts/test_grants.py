"""Grants: who has which role in which clusters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from kschedweb.accounts.grants import grant_give, grant_take
from kschedweb.accounts.models import AuditEntry, Grant, User
from kschedweb.accounts.reach import current, everything, look, looking
from kschedweb.accounts.roles import Action, Role
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.policies.models import Policy
from kschedweb.policies.services import revision_save
from kschedweb.web.errors import ApplicationError, Conflict
from tests.support import seed, seed_approvals, seed_live

pytestmark = pytest.mark.django_db

Clients = Callable[[str], Client]


@pytest.fixture
def blue(admin: User) -> Cluster:
    seed.imported("blue", seed.cluster(2, 6), admin)
    return Cluster.objects.get(name="blue")


@pytest.fixture
def red(admin: User) -> Cluster:
    seed.imported("red", seed.cluster(2, 6), admin)
    return Cluster.objects.get(name="red")


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user(username="ada", password="ada-password", role=Role.NONE)


def anew(user: User) -> User:
    """The person as the next request finds them."""
    return User.objects.get(pk=user.pk)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def names(user: User, action: Action = Action.VIEW) -> set[str]:
    return set(Cluster.objects.visible_to(anew(user), action).values_list("name", flat=True))


def test_who_has_a_role_reaches_everything_without_a_query(
    blue: Cluster, viewer: User, django_assert_num_queries
) -> None:
    with django_assert_num_queries(0):
        assert viewer.reach(Action.VIEW) is None
        assert viewer.may(Action.VIEW)
    assert not viewer.may(Action.EDIT)


def test_who_has_none_reaches_what_grants_cover(blue: Cluster, red: Cluster, ada: User, admin: User) -> None:
    assert names(ada) == set()
    assert not anew(ada).may(Action.VIEW)
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    assert names(ada) == {"blue"}
    assert not anew(ada).everywhere(Action.VIEW)
    grant_give(actor=admin, user="ada", role="viewer")
    assert names(ada) == {"blue", "red"}
    assert anew(ada).everywhere(Action.VIEW)


def test_a_person_is_editor_in_one_cluster_and_viewer_in_another(
    blue: Cluster, red: Cluster, ada: User, admin: User
) -> None:
    grant_give(actor=admin, user="ada", role="editor", cluster="blue")
    grant_give(actor=admin, user="ada", role="viewer", cluster="red")
    assert names(ada) == {"blue", "red"}
    assert names(ada, Action.EDIT) == {"blue"}
    assert (anew(ada).role_in(blue.pk), anew(ada).role_in(red.pk)) == ("editor", "viewer")
    client = logged_in(ada)
    price = {"document": "apiVersion: kschedweb/v1\nkind: PriceTable\ncurrency: EUR\nprices: []\n"}
    assert client.get("/clusters/red/").status_code == 200
    assert b"Import again" not in client.get("/clusters/red/").content
    assert client.put("/api/v1/clusters/red/prices/", price, content_type="application/json").status_code == 404
    assert client.put("/api/v1/clusters/blue/prices/", price, content_type="application/json").status_code != 404


def test_a_grant_raises_the_role_of_a_viewer_in_one_cluster(
    blue: Cluster, red: Cluster, viewer: User, admin: User
) -> None:
    grant_give(actor=admin, user="viewer", role="editor", cluster="blue")
    assert names(viewer) == {"blue", "red"}
    assert names(viewer, Action.EDIT) == {"blue"}


def test_a_label_covers_clusters_that_come_later(blue: Cluster, red: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="viewer", label="env=prod")
    assert names(ada) == set()
    Cluster.objects.filter(pk=red.pk).update(labels={"env": "prod", "team": "x"})
    assert names(ada) == {"red"}
    Cluster.objects.filter(pk=red.pk).update(labels={"env": "test"})
    assert names(ada) == set()


@pytest.mark.parametrize(("group", "covered"), [("sre", True), ("sre-*", False), ("*re", True), ("other", False)])
def test_a_group_has_grants_as_its_provider_names_it(
    blue: Cluster, ada: User, admin: User, group: str, covered: bool
) -> None:
    User.objects.filter(pk=ada.pk).update(provider="idp", provider_groups=["sre", "people"])
    grant_give(actor=admin, group=group, role="viewer", cluster="blue")
    assert (names(ada) == {"blue"}) == covered


def test_a_deleted_cluster_leaves_nothing_to_the_next_of_its_name(blue: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    blue.delete()
    seed.imported("blue", seed.cluster(1, 2), admin)
    assert names(ada) == set()


def test_policies_belong_to_the_whole_site(blue: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="admin", cluster="blue")
    with pytest.raises(ApplicationError, match="role in all"):
        revision_save(policy=Policy.objects.get(name="default"), document="", author=anew(ada), expected=1)
    client = logged_in(ada)
    for address in ("/people/", "/audit/", "/grants/", "/policies/new/", "/clusters/connect/", "/clusters/import/"):
        assert client.get(address).status_code == 403, address
    assert client.get("/clusters/blue/delete/").status_code == 200


def test_who_has_neither_role_nor_grant_opens_nothing(blue: Cluster, ada: User) -> None:
    client = logged_in(ada)
    for address in ("/", "/clusters/", "/policies/", "/api/v1/clusters/"):
        assert client.get(address).status_code == 403, address
        assert b"blue" not in client.get(address).content


def test_an_error_page_names_no_cluster_beyond(blue: Cluster, red: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    page = logged_in(ada).get("/nowhere/")
    assert page.status_code == 404
    assert b">red<" not in page.content


def test_a_vote_counts_as_the_role_in_the_cluster_of_the_pod(ada: User, admin: User) -> None:
    live = seed_live.scheduler(admin)
    asked = seed_approvals.request(live)
    cluster = live.cluster.name
    grant_give(actor=admin, user="ada", role="approver", cluster=cluster)
    client = logged_in(ada)
    answer = client.post("/approvals/decide/", {"requests": [str(asked.pk)], "verdict": "approve"})
    assert answer.status_code == 302
    assert [vote.role for vote in asked.votes.all()] == ["approver"]


def test_what_is_set_for_a_request_ends_with_it(blue: Cluster, ada: User) -> None:
    with looking(None):
        look(ada, Action.VIEW)
        assert current() is not None
        assert not Snapshot.objects.exists()
        with everything():
            assert Snapshot.objects.exists()
    assert current() is None
    assert Snapshot.objects.exists()


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "user"),
        ({"user": "ada", "group": "sre"}, "user"),
        ({"user": "nobody"}, "user"),
        ({"user": "ada", "role": "none"}, "role"),
        ({"user": "ada", "cluster": "green"}, "cluster"),
        ({"user": "ada", "label": "prod"}, "label"),
        ({"user": "ada", "label": "a=b", "cluster": "blue"}, "label"),
    ],
)
def test_a_wrong_grant_is_refused_at_its_field(blue: Cluster, ada: User, asked: dict[str, str], field: str) -> None:
    with pytest.raises(ApplicationError) as refused:
        grant_give(actor=None, **({"role": "viewer"} | asked))
    assert [one["path"] for one in refused.value.errors] == [field]
    assert not Grant.objects.exists()


def test_a_grant_is_given_once_and_taken_back(blue: Cluster, ada: User, admin: User) -> None:
    grant = grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    with pytest.raises(Conflict):
        grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    grant_take(actor=admin, grant=grant)
    assert names(ada) == set()
    told = AuditEntry.objects.filter(verb__startswith="grant.").order_by("id")
    assert [(one.verb, one.object_name, one.details["clusters"]) for one in told] == [
        ("grant.given", "ada", "blue"),
        ("grant.taken", "ada", "blue"),
    ]


def test_admins_give_and_take_grants_on_a_page(blue: Cluster, ada: User, client_as: Clients) -> None:
    client = client_as("admin")
    asked = {"user": "ada", "group": "", "role": "editor", "cluster": "blue", "label": ""}
    assert client.post(reverse("grants"), asked)["Location"] == "/grants/"
    page = client.get(reverse("grants"))
    assert b"1 grant" in page.content
    assert b"Editor" in page.content
    wrong = client.post(reverse("grants"), {**asked, "user": "nobody"})
    assert wrong.status_code == 400
    assert b"There is nobody called nobody." in wrong.content
    client.post(reverse("grant-take", args=[Grant.objects.get().pk]))
    assert not Grant.objects.exists()


def test_admins_give_and_take_grants_over_rest(blue: Cluster, api_as: Callable[[str], APIClient]) -> None:
    api = api_as("admin")
    made = api.post("/api/v1/grants/", {"group": "sre-*", "role": "editor", "cluster": "blue"})
    assert made.status_code == 201
    assert made.data["cluster"] == "blue"
    assert made.data["scope"] == "cluster"
    listed = api.get("/api/v1/grants/").data["results"]
    assert [one["group"] for one in listed] == ["sre-*"]
    address = f"/api/v1/grants/{made.data['id']}/"
    assert api.get(address).data["role"] == "editor"
    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404


def test_labels_of_a_cluster_are_decided_by_who_may_give_grants(
    blue: Cluster, ada: User, admin: User, client_as: Clients, api_as: Callable[[str], APIClient]
) -> None:
    address = reverse("cluster-labels", args=["blue"])
    assert client_as("admin").post(address, {"labels": "env=prod, team=a"}).status_code == 302
    blue.refresh_from_db()
    assert blue.labels == {"env": "prod", "team": "a"}
    assert client_as("admin").post(address, {"labels": "prod"}).status_code == 400
    put = api_as("admin").put("/api/v1/clusters/blue/labels/", {"labels": {"env": "test"}})
    assert put.data["labels"] == {"env": "test"}
    assert api_as("admin").put("/api/v1/clusters/blue/labels/", {"labels": {"": "x"}}).status_code == 400
    grant_give(actor=admin, user="ada", role="admin", cluster="blue")
    assert logged_in(ada).post(address, {"labels": "env=prod"}).status_code == 403
    assert client_as("editor").post(address, {"labels": "env=prod"}).status_code == 403
