"""Large imports: kept as they came, read by a job, and gone afterwards, also where a process died."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters import services, tasks
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.importing.imports import ImportFailed, files_read
from kschedweb.clusters.models import Cluster, ClusterSource, NodeRow, PodRow, Snapshot, Upload, UploadPiece
from kschedweb.jobs.models import Job, JobState
from kschedweb.web.errors import Conflict
from tests.clusters.conftest import node, pod

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings
    from rest_framework.test import APIClient

OBJECTS = [node("node-1"), *(pod(f"pod-{number}") for number in range(40))]
LIST = json.dumps({"apiVersion": "v1", "items": OBJECTS, "kind": "List"}, indent=4).encode()


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LARGE", 100)
    monkeypatch.setattr(uploads, "PIECE", 1000)


def post(client: APIClient, body: bytes, name: str = "big") -> Any:
    address = f"/api/v1/clusters/import/?name={name}"
    return client.generic("POST", address, body, content_type="application/json")  # type: ignore[arg-type]


def work() -> Job:
    """Run the waiting import, as a worker does."""
    job = Job.objects.get(kind="clusters.import", state=JobState.QUEUED)
    tasks.import_files(str(job.pk))
    job.refresh_from_db()
    return job


def nothing_is_kept() -> bool:
    return not any(model.objects.exists() for model in (Cluster, Snapshot, NodeRow, PodRow, Upload, UploadPiece))


@pytest.mark.django_db
def test_a_large_body_is_answered_with_the_job_that_makes_the_cluster(api_as: Callable[[str], APIClient]) -> None:
    client = api_as("editor")
    answer = post(client, LIST)
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/v1/jobs/{answer.json()['id']}/")
    assert UploadPiece.objects.count() > 10
    assert not Cluster.objects.exists()
    work()
    job = client.get(answer["Location"]).json()
    assert (job["state"], job["result"]["cluster"]) == ("succeeded", "big")
    assert job["result"]["counts"] == {"Node": 1, "Pod": 40, "pending": 40}
    assert client.get("/api/v1/clusters/big/").json()["counts"] == {"Node": 1, "Pod": 40, "pending": 40}
    assert (NodeRow.objects.count(), PodRow.objects.count()) == (1, 40)
    assert not Upload.objects.exists()
    assert not UploadPiece.objects.exists()


@pytest.mark.django_db
def test_large_files_on_the_page_lead_to_the_job_and_that_to_the_cluster(client_as: Callable[[str], Client]) -> None:
    client = client_as("editor")
    files = [SimpleUploadedFile("same.json", LIST), SimpleUploadedFile("same.json", json.dumps(node("other")).encode())]
    response = client.post("/clusters/import/", {"name": "big", "file": files})
    job = Job.objects.get(kind="clusters.import")
    assert (response.status_code, response["Location"]) == (302, f"/jobs/{job.pk}/")
    work()
    assert '<a href="/clusters/big/">big</a>' in client.get(response["Location"]).content.decode()
    assert NodeRow.objects.count() == 2


@pytest.mark.django_db
def test_what_is_wrong_with_a_file_is_said_by_the_job_with_its_place(
    api_as: Callable[[str], APIClient], client_as: Callable[[str], Client]
) -> None:
    wrong = SimpleUploadedFile("broken.json", LIST.replace(b'"pod-30"', b'"pod-30" 7'))
    client = api_as("editor")
    answer = client.post("/api/v1/clusters/import/", {"name": "big", "file": wrong}, format="multipart")
    assert answer.status_code == 202
    line = LIST[: LIST.index(b'"pod-30"')].count(b"\n") + 1
    job = work()
    assert job.state == JobState.FAILED
    assert job.error.startswith(f"broken.json: This is not JSON: Expecting ',' delimiter (line {line}, column ")
    (problem,) = client.get(f"/api/v1/jobs/{job.pk}/").json()["result"]["errors"]
    assert problem["path"] == "broken.json"
    assert f"line {line}" in problem["message"]
    text = client_as("viewer").get(f"/jobs/{job.pk}/").content.decode()
    assert text.count(f"(line {line}, column") == 1
    assert nothing_is_kept()


@pytest.mark.django_db
def test_a_name_that_is_taken_is_refused_before_anything_is_kept(api_as: Callable[[str], APIClient]) -> None:
    client = api_as("editor")
    post(client, LIST)
    work()
    assert post(client, LIST).status_code == 409
    assert not Upload.objects.exists()


@pytest.mark.django_db
def test_a_body_beyond_the_limit_is_refused_while_it_comes(
    api_as: Callable[[str], APIClient], settings: Settings
) -> None:
    settings.UPLOAD_LIMIT = 5_000
    assert post(api_as("editor"), LIST).status_code == 413
    assert nothing_is_kept()


@pytest.mark.django_db
def test_a_person_has_few_uploads_that_wait(api_as: Callable[[str], APIClient]) -> None:
    answers = [post(api_as("editor"), LIST, f"big-{number}").status_code for number in range(uploads.MAX_UPLOADS + 1)]
    assert answers == [202] * uploads.MAX_UPLOADS + [409]
    assert post(api_as("admin"), LIST, "another").status_code == 202


@pytest.mark.django_db
def test_an_import_whose_worker_died_goes_on_with_the_cluster_that_was_begun(
    api_as: Callable[[str], APIClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    post(api_as("editor"), LIST)
    begun = Cluster.objects.create(name="big", source=ClusterSource.IMPORT)
    Snapshot.objects.create(cluster=begun, taken_at=timezone.now(), content=b"", size=0)
    Upload.objects.update(cluster=begun)
    assert work().state == JobState.SUCCEEDED
    assert Cluster.objects.get().snapshots.filter(complete=True).count() == 1


@pytest.mark.django_db
def test_what_dead_processes_left_is_dropped(api_as: Callable[[str], APIClient]) -> None:
    post(api_as("editor"), LIST, "waits")
    post(api_as("editor"), LIST, "died")
    begun = Cluster.objects.create(name="died", source=ClusterSource.IMPORT)
    long_ago = timezone.now() - timedelta(hours=2)
    Snapshot.objects.create(cluster=begun, taken_at=long_ago, content=b"", size=0)
    Upload.objects.filter(name="died").update(cluster=begun)
    Job.objects.filter(title="Import cluster died").update(state=JobState.FAILED)
    Upload.objects.create(name="cut off", replace=False)
    Upload.objects.filter(name="cut off").update(created_at=long_ago)
    assert uploads.uploads_forget() == 2
    assert [upload.name for upload in Upload.objects.all()] == ["waits"]
    assert not Cluster.objects.exists()
    assert not Snapshot.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_import_into_a_cluster_that_is_deleted_meanwhile_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.clusters.snapshots.BATCH", 10)
    services.cluster_import(user=None, name="big", files=[("a", LIST)], limit=10**6)

    def step(text: str, count: int, total: int) -> None:
        if (text, count) == ("Storing the snapshot", 20):
            Cluster.objects.all().delete()

    with pytest.raises(Conflict, match="big was deleted in the meantime"):
        services.cluster_import(user=None, name="big", files=[("a", LIST)], limit=10**6, replace=True, step=step)
    assert nothing_is_kept()


@pytest.mark.django_db(transaction=True)
def test_rows_come_in_transactions_of_their_own(
    django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.clusters.snapshots.BATCH", 10)
    row_counts: list[int] = []

    def step(text: str, count: int, total: int) -> None:
        if text == "Storing the snapshot":
            assert not services.transaction.get_connection().in_atomic_block
            row_counts.append(PodRow.objects.count() + NodeRow.objects.count())
            assert not Snapshot.objects.filter(complete=True).exists()

    services.cluster_import(user=None, name="big", files=[("a", LIST)], limit=10**6, step=step)
    assert row_counts == [10, 20, 30, 40, 41]
    assert Snapshot.objects.get().complete


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
documents = st.one_of(
    st.lists(st.sampled_from(OBJECTS[:4]) | values, max_size=4),
    st.fixed_dictionaries(
        {"items": st.lists(st.sampled_from(OBJECTS[:4]) | values, max_size=3), "kind": st.just("List")}
    ),
    st.fixed_dictionaries({"pods": st.just(OBJECTS[1:3]), "nodes": st.just(OBJECTS[:1]), "more": values}),
    values,
)


@given(
    documents=st.lists(documents, min_size=1, max_size=3),
    size=st.integers(1, 60),
    cut=st.integers(0, 40),
    indent=st.none() | st.just(2),
)
def test_text_in_pieces_says_what_it_says_as_a_whole(
    documents: list[Any], size: int, cut: int, indent: int | None
) -> None:
    text = b"\n".join(
        json.dumps(document, indent=indent, ensure_ascii=False).encode(errors="replace")
        for document in [OBJECTS[0], *documents]
    )
    text = text[: len(text) - cut]

    def outcome(content: Any) -> object:
        try:
            read = files_read([("a", content)], limit=10**6)
        except ImportFailed as error:
            return error.detail
        return read.objects, read.problems, read.left_out

    assert outcome(text[start : start + size] for start in range(0, len(text), size)) == outcome(text)
