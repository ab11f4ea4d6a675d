"""The pages and REST of recordings."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.scenarios.models import Scenario, ScenarioFile
from kschedweb.playground.scenarios.services import scenario_create
from tests.support import seed_recordings
from tests.support.html import elements

pytestmark = pytest.mark.django_db

AsRole = Callable[[str], Client]


def test_an_editor_records_from_the_clusters_page_on(client_as: AsRole) -> None:
    cluster, client = seed_recordings.cluster(), client_as("editor")
    assert f"{reverse('recordings')}?cluster=recorded" in client.get(reverse("cluster", args=["recorded"])).text
    page = client.get(reverse("recordings"), {"cluster": "recorded"})
    assert elements(page, "select[name=cluster] option[value=recorded][selected]")
    answer = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": "5"})
    recording = Recording.objects.get()
    assert (answer["Location"], recording.cluster, recording.seconds) == (f"/recordings/{recording.pk}/", cluster, 300)
    page = client.get(answer["Location"])
    assert not page.context["recording"].ended
    assert elements(page, f"#main form[action={reverse('job-cancel', args=[recording.job_id])}]")
    second_post = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": "5"})
    assert second_post.status_code == 409
    [error] = second_post.context["form"].errors["cluster"]
    assert "is being recorded already" in error
    for minutes in ("0", "1441", "x"):
        answer = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": minutes})
        assert answer.status_code == 422
        assert elements(answer, "#id_minutes-error")


def test_what_was_recorded_becomes_a_scenario_or_a_file_of_one(client_as: AsRole, editor: User) -> None:
    recording, client = seed_recordings.recording(editor), client_as("editor")
    page = client.get(reverse("recording", args=[recording.pk]))
    row = page.context["recording"]
    assert (row.lasted, row.records, row.nodes, row.pods) == (3600, 18, 2, 7)
    assert len(row.notes) == 1
    assert [element.text for element in elements(page, ".notice.warn li")] == row.notes
    user = User.objects.get(pk=client.session["_auth_user_id"])
    answer = client.post(reverse("recording-scenario", args=[recording.pk]))
    scenario = Scenario.objects.get(built_in=False)
    assert (answer["Location"], scenario.created_by) == (f"/scenarios/{scenario.pk}/", user)
    own_scenario = scenario_create(text="name: mine\n", author=user)
    answer = client.post(reverse("recording-file", args=[recording.pk]), {"scenario": str(own_scenario.pk)})
    assert answer["Location"] == f"/scenarios/{own_scenario.pk}/files/"
    assert ScenarioFile.objects.get(scenario=own_scenario).lines == recording.records
    foreign = client.post(reverse("recording-file", args=[recording.pk]), {"scenario": str(uuid.UUID(int=7))})
    assert foreign.status_code == 422
    download = client.get(reverse("recording-download", args=[recording.pk]))
    assert download["Content-Disposition"] == 'attachment; filename="recorded-20260501-120000.jsonl.gz"'
    assert len(gzip.decompress(download.getvalue()).splitlines()) == 18


def test_a_viewer_reads_and_changes_nothing(
    client_as: AsRole, api_as: Callable[[str], APIClient], editor: User
) -> None:
    recording, client, api = seed_recordings.recording(editor), client_as("viewer"), api_as("viewer")
    address = reverse("recording", args=[recording.pk])
    assert not elements(client.get(address), "#main form")
    assert elements(client_as("editor").get(address), "#main form")
    assert not elements(client.get(reverse("recordings")), f"#main form[method=post][action='{reverse('recordings')}']")
    assert client.post(reverse("recordings"), {"cluster": "recorded", "minutes": "5"}).status_code == 403
    for name in ("recording-scenario", "recording-file", "recording-delete"):
        assert client.post(reverse(name, args=[recording.pk])).status_code == 403
    assert api.post("/api/v1/recordings/", {"cluster": "recorded", "seconds": 60}, format="json").status_code == 403
    assert api.get(f"/api/v1/recordings/{recording.pk}/").json()["records"] == 18


def test_rest_records_uses_and_deletes(api_as: Callable[[str], APIClient], admin: User) -> None:
    api, recording = api_as("editor"), seed_recordings.recording(admin)
    seed_recordings.cluster("other")
    response = api.post("/api/v1/recordings/", {"cluster": "other", "seconds": 60}, format="json")
    assert (response.status_code, response.json()["state"], response.json()["job"] is not None) == (202, "queued", True)
    assert response["Location"].endswith(f"/api/v1/recordings/{response.json()['id']}/")
    conflict = api.post("/api/v1/recordings/", {"cluster": "other", "seconds": 60}, format="json")
    assert (conflict.status_code, conflict.json()["errors"][0]["path"]) == (409, "cluster")
    for wrong in ({"cluster": "nothing", "seconds": 60}, {"cluster": "other", "seconds": 1}, {"seconds": 60}):
        assert api.post("/api/v1/recordings/", wrong, format="json").status_code == 400
    rows = api.get("/api/v1/recordings/", {"cluster": "recorded"}).json()["results"]
    assert [recording_url["id"] for recording_url in rows] == [str(recording.pk)]
    recording_url = f"/api/v1/recordings/{recording.pk}/"
    assert len(gzip.decompress(api.get(f"{recording_url}records/").getvalue()).splitlines()) == 18
    scenario = api.post(f"{recording_url}scenario/", {"name": "a morning"}, format="json")
    assert (scenario.status_code, scenario.json()["name"]) == (201, "a morning")
    assert api.post(f"{recording_url}scenario/", {"name": "a morning"}, format="json").status_code == 409
    file_response = api.post(f"{recording_url}file/", {"scenario": scenario.json()["id"]}, format="json")
    assert (file_response.status_code, file_response.json()["kind"]) == (201, "records")
    unfinished_url = f"/api/v1/recordings/{response.json()['id']}/"
    assert api.post(f"{unfinished_url}scenario/", {}, format="json").status_code == 409
    assert api.delete(unfinished_url).status_code == 409
    assert api.delete(recording_url).status_code == 403, "somebody else made it"
    assert api_as("admin").delete(recording_url).status_code == 204
    assert api.get(recording_url).status_code == 404


def test_a_cluster_that_is_not_connected_offers_no_recording(client_as: AsRole) -> None:
    Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    client = client_as("editor")
    link = f"a[href={reverse('recordings')}?cluster=files]"
    assert not elements(client.get(reverse("cluster", args=["files"])), link)
    page = client.get(reverse("recordings"))
    assert not page.context["can"]
    assert elements(page, ".empty")
    assert not elements(page, "#main form")
