"""Clusters over REST: who may do what, what comes back, and what can never hurt."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters import services
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.models import Cluster, Credential, NodeRow, PodRow, Snapshot
from kschedweb.jobs.models import Job
from kschedweb.web.errors import Conflict
from tests.clusters.conftest import OddServer, node, pod
from tests.clusters.malformed import JSON, YAML, malformed

if TYPE_CHECKING:
    from rest_framework.test import APIClient

    ApiAs = Callable[[str], APIClient]

pytestmark = pytest.mark.django_db

MODELS = (Cluster, Credential, Snapshot, NodeRow, PodRow, Job, AuditEntry)
MALFORMED = list(malformed())


def send(client: APIClient, name: str, body: bytes, kind: str = "application/json") -> Any:
    """Import ``body`` as the request's body."""
    return client.generic("POST", f"/api/v1/clusters/import/?name={name}", body, content_type=kind)  # type: ignore[arg-type]


def everything() -> dict[str, Any]:
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in MODELS}


@pytest.fixture
def imported(api_as: ApiAs) -> Cluster:
    answer = api_as("editor").post("/api/v1/clusters/import/?name=first", JSON, content_type="application/json")
    assert answer.status_code == 201, answer.data
    return Cluster.objects.get()


def test_there_are_two_hundred_malformed_uploads_and_no_two_alike() -> None:
    assert len(MALFORMED) >= 200
    assert len({name for name, _ in MALFORMED}) == len(MALFORMED)


def test_every_malformed_upload_is_a_clear_refusal_that_changes_nothing(
    api_as: ApiAs, imported: Cluster, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UPLOAD_LIMIT = 2_000_000
    monkeypatch.setattr(uploads, "LARGE", 4_000_000)  # none is left to a job
    client, before, wrong = api_as("editor"), everything(), []
    for index, (name, body) in enumerate(MALFORMED):
        if index % 2:
            file = SimpleUploadedFile("cluster.json", body)
            answer = client.post("/api/v1/clusters/import/", {"name": "second", "file": file}, format="multipart")
        else:
            kind = ("application/json", "application/yaml", "application/octet-stream")[index // 2 % 3]
            answer = send(client, "second", body, kind)
        problem = answer.json()
        clear = (
            400 <= answer.status_code < 500
            and answer["Content-Type"].startswith("application/problem+json")
            and problem["status"] == answer.status_code
            and len(problem["detail"]) > 15
        )
        if not clear:
            wrong.append((name, answer.status_code, problem))
    assert wrong == []
    assert everything() == before


@pytest.mark.parametrize(
    ("body", "kind"), [(JSON, "application/json"), (YAML, "application/yaml"), (YAML, "text/plain")]
)
def test_a_body_is_imported(api_as: ApiAs, body: bytes, kind: str) -> None:
    answer = send(api_as("editor"), "second", body, kind)
    assert answer.status_code == 201
    data = answer.json()
    assert data["cluster"]["name"] == "second"
    assert data["snapshot"]["counts"] == {"Node": 2, "Pod": 2, "pending": 2}
    assert data["left_out"] == 0
    assert answer["Location"].endswith("/api/v1/clusters/second/")
    assert AuditEntry.objects.get(verb="cluster.imported").actor_name == "editor"


def test_several_files_make_one_cluster_and_the_rest_is_listed(api_as: ApiAs) -> None:
    files = [
        SimpleUploadedFile("nodes.json", json.dumps(node()).encode()),
        SimpleUploadedFile("more.yaml", YAML.replace(b"node-1", b"node-9") + b"---\nkind: ConfigMap\n"),
    ]
    answer = api_as("editor").post("/api/v1/clusters/import/", {"name": "second", "file": files}, format="multipart")
    assert answer.status_code == 201
    assert answer.json()["snapshot"]["counts"]["Node"] == 3
    assert answer.json()["left_out"] == 1
    assert answer.json()["snapshot"]["problems"][0]["object"] == "ConfigMap (no name)"


def test_a_name_that_is_taken_is_kept_unless_replacing_is_asked_for(api_as: ApiAs, imported: Cluster) -> None:
    client = api_as("editor")
    assert send(client, "first", JSON).status_code == 409
    replaced = send(client, "first&replace=true", JSON)
    assert replaced.status_code == 200
    assert imported.snapshots.count() == 2
    assert (
        client.get("/api/v1/clusters/first/snapshots/").json()["results"][0]["id"] == replaced.json()["snapshot"]["id"]
    )


def test_files_never_replace_a_cluster_that_was_not_imported(api_as: ApiAs, plain_demo: None) -> None:
    services.demo_load()
    answer = send(api_as("editor"), "demo&replace=true", JSON)
    assert answer.status_code == 409
    assert Snapshot.objects.count() == 1


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "-a", "a-", "x" * 64, "import", "connect", "a b", "ä", "a\x00"])
def test_names_that_make_no_address_are_refused(api_as: ApiAs, name: str) -> None:
    file = SimpleUploadedFile("a.json", JSON)
    answer = api_as("editor").post("/api/v1/clusters/import/", {"name": name, "file": file}, format="multipart")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "name"


def test_nothing_sent_is_an_error_beside_the_file(api_as: ApiAs) -> None:
    answer = api_as("editor").post("/api/v1/clusters/import/", {"name": "second"}, format="multipart")
    assert answer.json()["errors"][0]["path"] == "file"


def test_an_announced_length_beyond_the_limit_is_refused_unread(api_as: ApiAs, settings: Settings) -> None:
    settings.UPLOAD_LIMIT = 1000
    file = SimpleUploadedFile("a.json", b"x" * 200_000)
    answer = api_as("editor").post("/api/v1/clusters/import/", {"name": "second", "file": file}, format="multipart")
    assert answer.status_code == 413


READS = ["clusters/", "clusters/first/", "clusters/first/snapshots/", "clusters/first/nodes/", "clusters/first/pods/"]


def test_nodes_and_pods_are_filtered_and_ordered(api_as: ApiAs, plain_demo: None) -> None:
    services.demo_load()
    client = api_as("viewer")

    def list_results(path: str) -> list[dict[str, Any]]:
        answer = client.get(f"/api/v1/clusters/demo/{path}")
        assert answer.status_code == 200, answer.data
        return list(answer.json()["results"])

    nodes = list_results("nodes/?limit=100")
    assert len(nodes) == 60
    assert {row["zone"] for row in list_results("nodes/?zone=eu-west-1a&limit=100")} == {"eu-west-1a"}
    assert {row["name"] for row in list_results("nodes/?unschedulable=true")} == {"general-a-7", "general-b-8"}
    assert [row["name"] for row in list_results("nodes/?ready=false")] == ["spot-c-3"]
    assert all(row["taints"] for row in list_results("nodes/?tainted=true&limit=100"))
    assert not any(row["taints"] for row in list_results("nodes/?tainted=false&limit=100"))
    shares = [row["cpu_share"] for row in list_results("nodes/?ordering=-cpu&limit=100")]
    assert shares == sorted(shares, reverse=True)
    assert {row["name"] for row in list_results("nodes/?search=GPU-")} == {"gpu-a-1", "gpu-a-2", "gpu-b-1"}

    pods = list_results("pods/?pending=true&limit=100")
    assert len(pods) == 23
    assert all(row["node"] == "" for row in pods)
    assert list_results("pods/?limit=1")[0]["pending"] is True
    assert {row["namespace"] for row in list_results("pods/?namespace=ml&limit=100")} == {"ml"}
    assert [row["name"] for row in list_results("pods/?gated=true")] == ["quarter-close"]
    assert {row["node"] for row in list_results("pods/?node=gpu-a-1&limit=100")} == {"gpu-a-1"}
    assert list_results("pods/?search=Too+many+pods")[0]["name"] == "relay-extra"
    assert list_results("pods/?scheduler=none") == []


def test_cursor_pages_go_through_all_pods_once(api_as: ApiAs, plain_demo: None) -> None:
    services.demo_load()
    client, address, keys = api_as("viewer"), "/api/v1/clusters/demo/pods/?limit=100", []
    while address:
        page = client.get(address).json()
        keys += [(row["namespace"], row["name"]) for row in page["results"]]
        address = page["next"]
    assert len(keys) == len(set(keys)) == 423


def test_unknown_clusters_and_snapshots_are_not_found(api_as: ApiAs, imported: Cluster) -> None:
    client = api_as("viewer")
    other = "00000000-0000-0000-0000-000000000000"
    for path in ("nowhere/", "nowhere/nodes/", "nowhere/pods/", "nowhere/snapshots/", f"first/snapshots/{other}/"):
        assert client.get(f"/api/v1/clusters/{path}").status_code == 404, path
    assert api_as("editor").post("/api/v1/clusters/nowhere/refresh/").status_code == 404


def test_a_cluster_that_is_not_connected_cannot_be_refreshed(api_as: ApiAs, imported: Cluster) -> None:
    assert api_as("editor").post("/api/v1/clusters/first/refresh/").status_code == 409


def test_deleting_takes_everything_with_it(api_as: ApiAs, imported: Cluster) -> None:
    assert api_as("admin").delete("/api/v1/clusters/first/").status_code == 204
    assert not any(model.objects.exists() for model in (Cluster, Snapshot, NodeRow, PodRow))
    assert AuditEntry.objects.get(verb="cluster.deleted").object_name == "first"


# Connecting, against a server that is no cluster --------------------------------------------------------------------

TOKEN = "tok-en-that-must-stay-hidden"


@pytest.fixture
def pretender(odd_server: OddServer) -> OddServer:
    """A server that says it is Kubernetes and allows nothing to be asked."""
    odd_server.json(lambda request: (200, {"gitVersion": "v1.36.3"}) if request.path == "/version" else (403, {}))
    return odd_server


def test_connecting_stores_the_secret_encrypted_and_shows_it_to_nobody(
    api_as: ApiAs, pretender: OddServer, django_capture_on_commit_callbacks: Any
) -> None:
    client = api_as("admin")
    body = {"name": "far", "source": "token", "server": pretender.url, "token": TOKEN}
    with django_capture_on_commit_callbacks():
        answer = client.post("/api/v1/clusters/", body)
    assert answer.status_code == 201, answer.data
    assert answer.json()["cluster"]["server_version"] == "v1.36.3"
    assert answer.json()["job"]["state"] == "queued"
    assert TOKEN.encode() not in bytes(Credential.objects.get().ciphertext)
    contents = [answer.content, client.get("/api/v1/clusters/far/").content, client.get("/api/v1/clusters/").content]
    contents += [client.get(f"/api/v1/jobs/{answer.json()['job']['id']}/").content, str(everything()).encode()]
    assert not any(TOKEN.encode() in text for text in contents)


def test_a_second_refresh_is_the_job_that_already_runs(
    api_as: ApiAs, pretender: OddServer, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks():
        body = {"name": "far", "source": "token", "server": pretender.url, "token": TOKEN}
        job = api_as("admin").post("/api/v1/clusters/", body).json()["job"]
        response = api_as("editor").post("/api/v1/clusters/far/refresh/")
    assert response.status_code == 202
    assert response.json()["id"] == job["id"]
    assert response["Location"].endswith(f"/api/v1/jobs/{job['id']}/")


BROKEN = json.dumps(
    {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1"}}],
        "users": [{"name": "u", "user": {"token": "abc\r\nX-Remote-User: admin"}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    }
)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "name"),
        ({"name": "far"}, "source"),
        ({"name": "far", "source": "demo"}, "source"),
        ({"name": "a\x00b", "source": "token"}, "name"),
        ({"name": "far", "source": "token", "server": "https://169.254.169.254", "token": "x"}, "server"),
        ({"name": "far", "source": "token", "server": "https://10.0.0.1", "token": "x"}, "server"),
        ({"name": "far", "source": "token", "server": "https://127.0.0.1", "token": ""}, "token"),
        ({"name": "far", "source": "token", "server": "https://127.0.0.1", "token": "x", "ca": "junk"}, "ca"),
        ({"name": "far", "source": "token", "server": "https://127.0.0.1", "token": "x", "ca": "ключ"}, "ca"),
        ({"name": "far", "source": "kubeconfig", "kubeconfig": "junk"}, "kubeconfig"),
        ({"name": "far", "source": "kubeconfig", "kubeconfig": BROKEN}, "users[u].user.token"),
        ({"name": "far", "source": "kubeconfig", "kubeconfig": "\ud800"}, ""),
    ],
)
def test_a_connection_that_is_refused_says_where(
    api_as: ApiAs, settings: Settings, body: dict[str, str], path: str
) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.0/8"]
    answer = api_as("admin").generic("POST", "/api/v1/clusters/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert not path or path in [error["path"] for error in answer.json()["errors"]]
    assert not Cluster.objects.exists()


def test_an_exec_plugin_never_runs(api_as: ApiAs, tmp_path: Any) -> None:
    witness = tmp_path / "ran"
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1"}}],
        "users": [{"name": "u", "user": {"exec": {"command": "touch", "args": [str(witness)]}}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    body = {"name": "far", "source": "kubeconfig", "kubeconfig": json.dumps(kubeconfig)}
    answer = api_as("admin").post("/api/v1/clusters/", body)
    assert answer.status_code == 400
    assert "exec is refused" in answer.json()["detail"]
    assert not witness.exists()


def test_pods_without_a_good_shape_reach_no_row(api_as: ApiAs) -> None:
    odd = pod("odd")
    odd["metadata"]["creationTimestamp"] = "yesterday"
    odd["status"] = {"phase": 3, "conditions": [{"type": "PodScheduled", "status": "False", "message": 5}]}
    huge = pod("huge", priority=2**40)
    answer = send(api_as("editor"), "second", json.dumps([node(), odd, huge]).encode())
    assert answer.status_code == 201
    row = PodRow.objects.get()
    assert (row.name, row.phase, row.message, row.created_at) == ("odd", "", "", None)
    problem = {
        "object": "Pod default/huge",
        "reason": "spec.priority: must be a whole number of 32 bits",
        "left_out": True,
    }
    assert problem in answer.json()["snapshot"]["problems"]


def test_a_name_taken_in_the_meantime_is_a_conflict(imported: Cluster) -> None:
    with pytest.raises(Conflict, match="already a cluster first"):
        services.cluster_create(Cluster(name="first", source="import"))
    assert Cluster.objects.count() == 1
