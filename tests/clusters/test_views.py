"""The pages of clusters, as each role sees them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from kschedweb.clusters import services
from kschedweb.clusters.connecting.sources import secret_of
from kschedweb.clusters.kinds import EVENT, KINDS
from kschedweb.clusters.models import AllowedAddress, Cluster, ClusterSource
from tests.clusters.conftest import OddServer, node, pod
from tests.support.html import elements, html_of, levels

if TYPE_CHECKING:
    from django.test import Client

    ClientAs = Callable[[str], Client]

pytestmark = pytest.mark.django_db

TEXT = json.dumps([node(), pod()])


@pytest.fixture
def demo(plain_demo: None) -> Cluster:
    return services.demo_load()


def test_an_empty_list_teaches_what_to_do(client_as: ClientAs) -> None:
    demo, connect = ".empty form[action=/clusters/load-demo/]", ".empty a[href=/clusters/connect/]"
    offered = {role: client_as(role).get("/clusters/") for role in ("viewer", "editor", "admin")}
    assert [role for role, page in offered.items() if elements(page, demo)] == ["editor", "admin"]
    assert [role for role, page in offered.items() if elements(page, connect)] == ["admin"]
    assert elements(offered["viewer"], ".empty")


def test_the_demo_is_one_click_away(client_as: ClientAs, plain_demo: None) -> None:
    answer = client_as("editor").post("/clusters/load-demo/")
    assert answer["Location"] == "/clusters/demo/"
    assert Cluster.objects.get().name == "demo"


def test_the_list_shows_counts(client_as: ClientAs, demo: Cluster) -> None:
    page = client_as("viewer").get("/clusters/")
    assert page.context["page"].paginator.count == 1
    assert "423" in [link.text for link in elements(page, "tbody a")]
    refresh = "form[action=/clusters/demo/refresh/]"
    Cluster.objects.update(source=ClusterSource.TOKEN)
    assert not elements(client_as("viewer").get("/clusters/"), refresh)
    assert elements(client_as("editor").get("/clusters/"), f"td {refresh}")


def test_the_cluster_page_says_what_is_in_it(client_as: ClientAs, demo: Cluster) -> None:
    page = client_as("viewer").get("/clusters/demo/")
    counts = page.context["counts"]
    assert (counts["Node"], counts["Pod"], counts["pending"]) == (60, 423, 23)
    assert "60 nodes, 423 pods, 23 pending" in html_of(page)
    assert "PodDisruptionBudget" in html_of(page)
    delete = "a[href=/clusters/demo/delete/]"
    assert not elements(page, delete)
    assert elements(client_as("admin").get("/clusters/demo/"), delete)


def test_pages_take_few_queries(client_as: ClientAs, demo: Cluster, django_assert_max_num_queries: Any) -> None:
    client = client_as("admin")
    client.get("/clusters/demo/")
    with django_assert_max_num_queries(12):
        client.get("/clusters/demo/")
    with django_assert_max_num_queries(12):
        client.get("/clusters/")


def test_importing_by_upload_and_by_paste(client_as: ClientAs) -> None:
    client = client_as("editor")
    files = [
        SimpleUploadedFile("a.json", json.dumps(node()).encode()),
        SimpleUploadedFile("b.json", json.dumps(pod()).encode()),
    ]
    answer = client.post("/clusters/import/", {"name": "uploaded", "file": files})
    assert answer["Location"] == "/?cluster=uploaded"
    answer = client.post("/clusters/import/", {"name": "pasted", "text": TEXT}, follow=True)
    assert answer.context["scope"].snapshot.counts == {"Node": 1, "Pod": 1, "pending": 1}
    assert levels(answer)[-1] == "success"
    partly = json.dumps([node(), pod(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}])
    answer = client.post("/clusters/import/", {"name": "partly", "text": partly}, follow=True)
    assert answer.redirect_chain == [("/?cluster=partly", 302)]
    assert levels(answer) == ["success", "warning"]


def test_an_import_that_fails_keeps_what_was_typed(client_as: ClientAs) -> None:
    answer = client_as("editor").post("/clusters/import/", {"name": "pasted", "text": "kind: Node\nkind: Pod"})
    assert answer.status_code == 400
    assert "Line 2, column 1" in " ".join(answer.context["form"].errors["text"])
    assert elements(answer, "input[name=name][value=pasted]")
    assert [textarea.text for textarea in elements(answer, "textarea[name=text]")] == ["kind: Node kind: Pod"]
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    "form", [{}, {"name": "Bad Name", "text": TEXT}, {"name": "a"}, {"name": "a\x00", "text": TEXT}]
)
def test_an_import_without_name_or_text_says_so(client_as: ClientAs, form: dict[str, str]) -> None:
    answer = client_as("editor").post("/clusters/import/", form)
    assert answer.status_code == 400
    assert answer.context["form"].errors
    assert elements(answer, ".field-error")


def test_connecting_never_sends_a_secret_back(client_as: ClientAs, settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.0/8"]
    form = {
        "source": "kubeconfig",
        "name": "far",
        "kubeconfig": "users: [{name: u, user: {token: hidden-word}}]\nclusters: []\ncontexts: []",
        "token": "hidden-word",
        "server": "https://kept.example.com",
    }
    answer = client_as("admin").post("/clusters/connect/", form)
    page = html_of(answer)
    assert answer.status_code == 400
    assert "hidden-word" not in page
    assert elements(answer, "input[name=server][value=https://kept.example.com]")
    assert "names no current-context" in page
    assert "no-store" in answer["Cache-Control"]


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "SERVER"}}]
users: [{name: u, user: {token: hidden-word}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
"""


@pytest.mark.parametrize(
    ("source", "field", "server", "words"),
    [
        (
            "kubeconfig",
            "kubeconfig",
            "https://10.1.2.3:6443",
            "is not among the addresses",
        ),
        ("kubeconfig", "kubeconfig", "http://127.0.0.1:9", "refuses connections. (The server is 127.0.0.1, port 9.)"),
        ("token", "server", "https://10.1.2.3:6443", "is not among the addresses"),
        ("token", "server", "http://127.0.0.1:9", "refuses connections. (The server is 127.0.0.1, port 9.)"),
    ],
)
def test_errors_of_connecting_stand_at_a_field_that_is_shown(
    client_as: ClientAs, settings: Settings, source: str, field: str, server: str, words: str
) -> None:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOW_INSECURE = ["127.0.0.0/8"], True
    values = {"source": source, "name": "far", "context": "c"}
    values |= {"kubeconfig": KUBECONFIG.replace("SERVER", server), "server": server, "token": "hidden-word"}
    answer = client_as("admin").post("/clusters/connect/", values)
    form = answer.context["form"]
    assert words in " ".join(form[field].errors)
    assert elements(answer, f"#id_{field}-error")
    assert elements(answer, "input[name=context][value=c]")
    for emptied in ("token", "kubeconfig"):
        assert form[emptied].help_text.startswith("Emptied, since it is secret: give it again.")
    assert "hidden-word" not in html_of(answer)


def test_a_context_that_runs_a_program_gets_the_commands_for_a_token(client_as: ClientAs) -> None:
    text = KUBECONFIG.replace("SERVER", "https://kube:6443").replace("token: hidden-word", "exec: {command: aws}")
    text = text.replace("cluster: {server", "cluster: {certificate-authority-data: LS0tLS1CRUdJTg==, server")
    answer = client_as("admin").post("/clusters/connect/", {"source": "kubeconfig", "name": "far", "kubeconfig": text})
    server, commands = elements(answer, "#token-commands code")
    assert server.text == "https://kube:6443"
    assert commands.text.count("create token kschedweb") == 1
    assert [word.text for word in elements(answer, "#token-commands span[data-slot=word]")] == ["c"] * 4
    values = {name: answer.context["form"][name].value() for name in ("source", "name", "server", "ca")}
    assert values == {"source": "token", "name": "far", "server": "https://kube:6443", "ca": "-----BEGIN"}


def test_without_a_current_context_the_contexts_are_a_choice(client_as: ClientAs) -> None:
    text = KUBECONFIG.replace("current-context: c", "").replace(
        "contexts: [", "contexts: [{name: other, context: {cluster: c, user: u}}, "
    )
    answer = client_as("admin").post("/clusters/connect/", {"source": "kubeconfig", "name": "far", "kubeconfig": text})
    assert answer.context["form"].errors["context"]
    assert [option["value"] for option in elements(answer, "select[name=context] option")] == ["", "c", "other"]
    assert "hidden-word" not in html_of(answer)
    assert not elements(client_as("admin").get("/clusters/connect/"), "select[name=context]")


def test_connecting_leads_to_the_overview_with_missing_permissions(
    client_as: ClientAs, odd_server: OddServer, django_capture_on_commit_callbacks: Any
) -> None:
    def answer(request: Any) -> tuple[int, dict[str, Any]]:
        return 200, {"gitVersion": "v1.36.3"} if request.path == "/version" else {"status": {"allowed": False}}

    odd_server.json(answer)
    with django_capture_on_commit_callbacks():
        form = {"source": "token", "name": "far", "server": odd_server.url, "token": "x"}
        page = client_as("admin").post("/clusters/connect/", form, follow=True)
    assert levels(page) == ["success"]
    assert page.redirect_chain == [("/?cluster=far", 302)]
    assert page.context["reading"].state == "queued"
    assert len(page.context["missing"]) == 2 * len((*KINDS, EVENT))
    assert elements(page, "#reading")
    assert elements(page, "#main a[href=/clusters/far/#permissions]")
    assert "there is nothing to schedule to" in html_of(client_as("admin").get("/clusters/far/"))


def test_credentials_are_replaced_on_a_page_that_never_shows_them(
    client_as: ClientAs, demo: Cluster, odd_server: OddServer
) -> None:
    odd_server.json(lambda request: (200, {"gitVersion": "v1.36.3"} if request.path == "/version" else {}))
    connected = {"source": "token", "name": "far", "server": odd_server.url, "token": "x"}
    admin = client_as("admin")
    admin.post("/clusters/connect/", connected)
    address = "/clusters/far/credentials/"
    assert address in html_of(admin.get("/clusters/far/"))
    assert odd_server.url in html_of(admin.get(address))
    both = admin.post(address, {"token": "hidden-word", "kubeconfig": "hidden-word"})
    assert both.status_code == 400
    [[error]] = both.context["form"].errors.values()
    assert error == "Give either a token or a kubeconfig."
    assert "hidden-word" not in html_of(both)
    assert admin.post(address, {"token": "other"})["Location"] == "/clusters/far/"
    assert secret_of(Cluster.objects.get(name="far")).token == "other"
    assert admin.get("/clusters/demo/credentials/").status_code == 409


def test_without_an_allowlist_the_page_says_what_the_operator_must_do(client_as: ClientAs, settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = []
    assert "KSCHEDWEB_CLUSTER_ALLOWLIST" in html_of(client_as("admin").get("/clusters/connect/"))


def test_a_refused_address_is_allowed_on_the_page_and_removed_there(client_as: ClientAs, settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOWLIST_EDITABLE = ["192.0.2.9"], True
    admin = client_as("admin")
    form = {"source": "token", "name": "far", "server": "https://127.0.0.1:9", "token": "hidden-word"}
    refused = admin.post("/clusters/connect/", form)
    assert "Clusters → Connect" in " ".join(refused.context["form"].errors["server"])
    allow = "#unlisted form[action=/clusters/connect/addresses/]"
    kept = refused.context["kept"]
    assert {"name", "source", "server"} == kept.keys()
    assert elements(refused, f"{allow} input[name=server][value=https://127.0.0.1:9]")
    assert elements(refused, f"{allow} button[name=entry][value=127.0.0.1]")
    assert "hidden-word" not in html_of(refused)
    allowed = admin.post("/clusters/connect/addresses/", {**kept, "entry": "127.0.0.1"}, follow=True)
    assert levels(allowed) == ["success"]
    assert elements(allowed, "input[name=name][value=far]")
    assert elements(allowed, "input[name=server][value=https://127.0.0.1:9]")
    assert "refuses connections" in html_of(admin.post("/clusters/connect/", form))
    assert elements(allowed, "form[action=/clusters/connect/addresses/remove/] button[name=entry][value=127.0.0.1]")
    removed = admin.post("/clusters/connect/addresses/remove/", {"entry": "127.0.0.1"}, follow=True)
    assert levels(removed) == ["success"]
    assert elements(admin.post("/clusters/connect/", form), "#unlisted")
    assert levels(admin.post("/clusters/connect/addresses/remove/", {"entry": "127.0.0.1"}, follow=True)) == ["error"]


def test_an_entry_that_may_not_be_added_says_so_at_its_field(client_as: ClientAs, settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST_EDITABLE = True
    answer = client_as("admin").post("/clusters/connect/addresses/", {"entry": "169.254.169.254"})
    assert answer.status_code == 400
    assert answer.context["address_form"].errors["entry"]
    assert elements(answer, "#id_entry-error")


def test_only_administrators_allow_addresses_and_only_where_the_operator_lets_them(
    client_as: ClientAs, settings: Settings
) -> None:
    added = {"entry": "10.1.2.3"}
    assert not elements(client_as("admin").get("/clusters/connect/"), "form[action=/clusters/connect/addresses/]")
    assert client_as("admin").post("/clusters/connect/addresses/", added).status_code == 403
    settings.CLUSTER_ALLOWLIST_EDITABLE = True
    for address in ("/clusters/connect/addresses/", "/clusters/connect/addresses/remove/"):
        assert client_as("editor").post(address, added).status_code == 403
        assert client_as("admin").get(address).status_code == 405
    assert not AllowedAddress.objects.exists()
    assert elements(client_as("admin").get("/approvals/webhooks/new/"), "a[href=/clusters/connect/#addresses]")


def test_the_cluster_kschedweb_runs_in_is_offered_only_there(client_as: ClientAs) -> None:
    page = html_of(client_as("admin").get("/clusters/connect/"))
    assert 'value="in-cluster"' not in page


def test_deleting_asks_for_the_name(client_as: ClientAs, demo: Cluster) -> None:
    client = client_as("admin")
    assert client.get("/clusters/demo/delete/").status_code == 200
    assert client.post("/clusters/demo/delete/", {"name": "dem"}).status_code == 400
    assert Cluster.objects.exists()
    assert client.post("/clusters/demo/delete/", {"name": "demo"})["Location"] == "/clusters/"
    assert not Cluster.objects.exists()


def test_names_from_clusters_are_only_text(client_as: ClientAs) -> None:
    hostile = {"kind": "<script>alert(1)</script>", "metadata": {"name": "<img src=x>"}}
    services.cluster_import(user=None, name="hostile", files=[("a", json.dumps([node(), hostile]))], limit=10_000)
    page = html_of(client_as("viewer").get("/clusters/hostile/"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
