"""Grants: who has which role in which clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from kschedweb.accounts.grants import grant_give, grant_take
from kschedweb.accounts.models import AuditEntry, Grant, User
from kschedweb.accounts.reach import as_looker, current_reach, set_looker, unrestricted
from kschedweb.accounts.roles import Action, Role
from kschedweb.accounts.services import admin_ensure, user_change_role, user_set_active
from kschedweb.accounts.signin.configuration import Provider
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.policies.models import Policy
from kschedweb.policies.services import revision_save
from kschedweb.web.errors import ApplicationError, Conflict
from tests.support import seed, seed_approvals, seed_live
from tests.support.html import elements

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
    assert (anew(ada).role_in(blue.pk, "web"), anew(ada).role_in(red.pk, "web")) == ("editor", "viewer")
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


@pytest.mark.parametrize(("group", "is_covered"), [("sre", True), ("sre-*", False), ("*re", True), ("other", False)])
def test_a_group_has_grants_as_its_provider_names_it(
    blue: Cluster, ada: User, admin: User, group: str, is_covered: bool
) -> None:
    User.objects.filter(pk=ada.pk).update(provider="idp", provider_groups=["sre", "people"])
    grant_give(actor=admin, group=group, role="viewer", cluster="blue")
    assert (names(ada) == {"blue"}) == is_covered


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
    approval = seed_approvals.request(live)
    cluster = live.cluster.name
    grant_give(actor=admin, user="ada", role="approver", cluster=cluster)
    client = logged_in(ada)
    answer = client.post("/approvals/decide/", {"requests": [str(approval.pk)], "verdict": "approve"})
    assert answer.status_code == 302
    assert [vote.role for vote in approval.votes.all()] == ["approver"]


def test_what_is_set_for_a_request_ends_with_it(blue: Cluster, ada: User) -> None:
    with as_looker(None):
        set_looker(ada, Action.VIEW)
        assert current_reach() is not None
        assert not Snapshot.objects.exists()
        with unrestricted():
            assert Snapshot.objects.exists()
    assert current_reach() is None
    assert Snapshot.objects.exists()


def parts(user: User, action: Action = Action.VIEW) -> dict[str, list[str]]:
    reach = anew(user).reach(action)
    assert reach is not None
    return {part.name: sorted(part.namespaces) for part in reach.parts.values()}


def test_a_grant_may_name_namespaces(blue: Cluster, red: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue", namespaces=["web"])
    grant_give(actor=admin, user="ada", role="editor", namespaces=["shop"])
    assert parts(ada) == {"blue": ["shop", "web"], "red": ["shop"]}
    assert parts(ada, Action.EDIT) == {"blue": ["shop"], "red": ["shop"]}
    assert not anew(ada).everywhere(Action.VIEW)
    assert (anew(ada).role_in(blue.pk, "web"), anew(ada).role_in(blue.pk, "shop")) == ("viewer", "editor")
    assert anew(ada).role_in(blue.pk, "default") == "none"
    grant_give(actor=admin, user="ada", role="viewer", cluster="red")
    assert parts(ada) == {"blue": ["shop", "web"]}
    entries = AuditEntry.objects.filter(verb="grant.given").order_by("id")
    assert [entry.details.get("namespaces") for entry in entries] == [["web"], ["shop"], None]


def test_of_a_cluster_in_part_nodes_are_seen_in_whole_and_pods_counted(ada: User, admin: User) -> None:
    pods = [seed.pod("theirs", bound_to="node-00000"), seed.pod("stuck", cpu="1000")]
    for pod in pods:
        pod["metadata"]["namespace"] = "web"
    seed.imported("blue", [*seed.cluster(2, 6), *pods], admin)
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue", namespaces=["web"])
    client = logged_in(ada)
    api = "/api/v1/clusters/blue"
    assert [row["name"] for row in client.get(f"{api}/pods/").json()["results"]] == ["stuck", "theirs"]
    nodes = client.get(f"{api}/nodes/").json()["results"]
    assert [(node["name"], node["pods_bound"]) for node in nodes] == [("node-00000", 3), ("node-00001", 2)]
    on_node = client.get(f"{api}/map/pods/?node=node-00000").json()
    assert (on_node["pods"], on_node["omitted"]) == (["web/theirs"], 2)
    assert elements(client.get("/pods/?cluster=blue"), "[data-others]")[0]["data-others"] == "6"
    assert elements(client.get("/pods/?cluster=blue&node=node-00000"), "[data-others]")[0]["data-others"] == "2"
    overview = client.get("/?cluster=blue")
    counts = overview.context["counts"]
    assert (counts["pods"], counts["others"], counts["waiting"], counts["others_waiting"]) == (2, 6, 1, 2)
    assert elements(overview, "[data-in-part]")[0]["data-in-part"] == "web"


def test_what_shows_whole_clusters_refuses_and_says_why(blue: Cluster, ada: User, admin: User) -> None:
    grant_give(actor=admin, user="ada", role="admin", cluster="blue", namespaces=["web"])
    client = logged_in(ada)
    answer = client.get("/api/v1/clusters/blue/flight/")
    assert answer.status_code == 403
    assert "namespaces web" in answer.json()["detail"]
    assert client.get("/clusters/blue/flight/").status_code == 403
    assert client.get("/clusters/blue/delete/").status_code == 403
    page = client.get("/capacity/drain/?cluster=blue")
    assert elements(page, "[data-left-out]")[0]["data-left-out"] == "blue"
    assert client.post("/clusters/blue/refresh/").status_code == 403


def test_who_would_be_evicted_is_named_to_whoever_sees_them(ada: User, admin: User) -> None:
    urgent = seed.pod("urgent", cpu="7500m")
    urgent["metadata"]["namespace"], urgent["spec"]["priority"] = "web", 1000
    seed.imported("blue", [seed.node("only"), seed.pod("victim", cpu="1", bound_to="only"), urgent], admin)
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue", namespaces=["web"])
    address = "/api/v1/clusters/blue/pods/web/urgent/decision/"
    candidate = logged_in(ada).get(address).json()["preemption"]["candidates"]["only"]
    assert candidate["pods"] == ["(another namespace)"]
    assert logged_in(admin).get(address).json()["preemption"]["candidates"]["only"]["pods"] == ["default/victim"]
    page = logged_in(ada).get("/decision/blue/web/urgent/").content
    assert b"a pod of another namespace" in page
    assert b"victim<" not in page
    assert logged_in(ada).get("/api/v1/clusters/blue/pods/default/victim/decision/").status_code == 404


def test_a_vote_asks_for_the_role_in_the_namespace_of_the_pod(ada: User, admin: User) -> None:
    live = seed_live.scheduler(admin)
    approval = seed_approvals.request(live)
    grant_give(actor=admin, user="ada", role="approver", cluster=live.cluster.name, namespaces=["web"])
    address = f"/api/v1/approvals/{approval.pk}/approve/"
    assert logged_in(ada).post(address, {}, content_type="application/json").status_code == 404
    grant_give(actor=admin, user="ada", role="approver", cluster=live.cluster.name, namespaces=["default"])
    assert logged_in(ada).post(address, {}, content_type="application/json").status_code == 200
    assert [vote.role for vote in approval.votes.all()] == ["approver"]


def test_what_is_kept_of_a_cluster_is_kept_for_all_who_look(ada: User, admin: User) -> None:
    seed.imported("blue", seed.cluster(2, 6), admin)
    grant_give(actor=admin, user="ada", role="viewer", cluster="blue", namespaces=["web"])
    address = "/api/v1/clusters/blue/cost/?by=namespace"
    first = logged_in(ada).get(address).json()
    cost_in_full = logged_in(admin).get(address).json()
    assert [(group["name"], group["count"]) for group in first["groups"]] == [("other namespaces", 4)]
    assert [(group["name"], group["count"]) for group in cost_in_full["groups"]] == [("default", 4)]
    assert first["total"] == cost_in_full["total"]
    assert first["groups"][0]["hour"] == pytest.approx(cost_in_full["groups"][0]["hour"])


def test_the_last_who_can_administer_stays(blue: Cluster, ada: User, admin: User, settings: LazySettings) -> None:
    with pytest.raises(Conflict, match="last active admin"):
        user_change_role(actor=admin, user=admin, role=Role.VIEWER)
    for less in ({"cluster": "blue"}, {"namespaces": ["web"]}):
        grant_give(actor=admin, user="ada", role="admin", **less)
        with pytest.raises(Conflict, match="last active admin"):
            user_set_active(actor=admin, user=admin, active=False)
    grant = grant_give(actor=admin, user="ada", role="admin")
    assert user_change_role(actor=admin, user=admin, role=Role.VIEWER).role == Role.VIEWER
    with pytest.raises(Conflict, match="last active admin"):
        grant_take(actor=ada, grant=grant)
    with pytest.raises(Conflict, match="last active admin"):
        user_set_active(actor=ada, user=anew(ada), active=False)
    group = grant_give(actor=ada, group="ops", role="admin")
    erin = User.objects.create(username="erin", role=Role.NONE, provider="idp", provider_groups=["ops"])
    with pytest.raises(Conflict, match="last active admin"):  # of a provider that the site does not know any more
        grant_take(actor=ada, grant=grant)
    settings.IDENTITY_PROVIDERS = {"idp": Provider("idp", "IdP", "https://sso.example.org", "kschedweb")}
    grant_take(actor=ada, grant=grant)
    with pytest.raises(Conflict, match="last active admin"):
        grant_take(actor=erin, grant=group)
    assert admin_ensure(username="root") == (None, "")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "user"),
        ({"user": "ada", "group": "sre"}, "user"),
        ({"user": "nobody"}, "user"),
        ({"user": "ada", "role": "none"}, "role"),
        ({"user": "ada", "cluster": "green"}, "cluster"),
        ({"user": "ada", "label": "prod"}, "label"),
        ({"user": "ada", "label": "a=b", "cluster": "blue"}, "label"),
        ({"user": "ada", "namespaces": ["Web"]}, "namespaces"),
        ({"user": "ada", "namespaces": [f"n{number}" for number in range(51)]}, "namespaces"),
    ],
)
def test_a_wrong_grant_is_refused_at_its_field(blue: Cluster, ada: User, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        grant_give(actor=None, **({"role": "viewer"} | fields))
    assert [error["path"] for error in caught.value.errors] == [field]
    assert not Grant.objects.exists()


def test_a_grant_is_given_once_and_taken_back(blue: Cluster, ada: User, admin: User) -> None:
    grant = grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    with pytest.raises(Conflict):
        grant_give(actor=admin, user="ada", role="viewer", cluster="blue")
    grant_take(actor=admin, grant=grant)
    assert names(ada) == set()
    entries = AuditEntry.objects.filter(verb__startswith="grant.").order_by("id")
    assert [(entry.verb, entry.object_name, entry.details["clusters"]) for entry in entries] == [
        ("grant.given", "ada", "blue"),
        ("grant.taken", "ada", "blue"),
    ]


def test_admins_give_and_take_grants_on_a_page(blue: Cluster, ada: User, client_as: Clients) -> None:
    client = client_as("admin")
    form = {"user": "ada", "group": "", "role": "editor", "cluster": "blue", "label": "", "namespaces": "web, shop"}
    assert client.post(reverse("grants"), form)["Location"] == "/grants/"
    page = client.get(reverse("grants"))
    assert b"1 grant" in page.content
    assert b"Editor" in page.content
    assert b"shop, web" in page.content
    form_page = client.post(reverse("grants"), {**form, "namespaces": "Web"})
    assert form_page.context["form"].errors["namespaces"]
    wrong = client.post(reverse("grants"), {**form, "user": "nobody"})
    assert wrong.status_code == 400
    assert b"There is nobody called nobody." in wrong.content
    client.post(reverse("grant-take", args=[Grant.objects.get().pk]))
    assert not Grant.objects.exists()


def test_admins_give_and_take_grants_over_rest(blue: Cluster, api_as: Callable[[str], APIClient]) -> None:
    api = api_as("admin")
    response = api.post(
        "/api/v1/grants/", {"group": "sre-*", "role": "editor", "cluster": "blue", "namespaces": ["web"]}
    )
    assert response.status_code == 201
    assert response.data["namespaces"] == ["web"]
    assert response.data["cluster"] == "blue"
    assert response.data["scope"] == "cluster"
    grants = api.get("/api/v1/grants/").data["results"]
    assert [grant["group"] for grant in grants] == ["sre-*"]
    address = f"/api/v1/grants/{response.data['id']}/"
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
