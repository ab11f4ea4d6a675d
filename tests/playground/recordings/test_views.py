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
    watched, client = seed_recordings.cluster(), client_as("editor")
    assert f"{reverse('recordings')}?cluster=recorded" in client.get(reverse("cluster", args=["recorded"])).text
    page = client.get(reverse("recordings"), {"cluster": "recorded"})
    assert elements(page, "select[name=cluster] option[value=recorded][selected]")
    answer = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": "5"})
    made = Recording.objects.get()
    assert (answer["Location"], made.cluster, made.seconds) == (f"/recordings/{made.pk}/", watched, 300)
    page = client.get(answer["Location"])
    assert not page.context["recording"].ended
    assert elements(page, f"#main form[action={reverse('job-cancel', args=[made.job_id])}]")
    again = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": "5"})
    assert again.status_code == 409
    [error] = again.context["form"].errors["cluster"]
    assert "is being recorded already" in error
    for minutes in ("0", "1441", "x"):
        answer = client.post(reverse("recordings"), {"cluster": "recorded", "minutes": minutes})
        assert answer.status_code == 422
        assert elements(answer, "#id_minutes-error")


def test_what_was_recorded_becomes_a_scenario_or_a_file_of_one(client_as: AsRole, editor: User) -> None:
    recording, client = seed_recordings.recording(editor), client_as("editor")
    page = client.get(reverse("recording", args=[recording.pk]))
    shown = page.context["recording"]
    assert (shown.lasted, shown.records, shown.nodes, shown.pods) == (3600, 18, 2, 7)
    assert len(shown.notes) == 1
    assert [one.text for one in elements(page, ".notice.warn li")] == shown.notes
    user = User.objects.get(pk=client.session["_auth_user_id"])
    answer = client.post(reverse("recording-scenario", args=[recording.pk]))
    made = Scenario.objects.get(built_in=False)
    assert (answer["Location"], made.created_by) == (f"/scenarios/{made.pk}/", user)
    own = scenario_create(text="name: mine\n", author=user)
    answer = client.post(reverse("recording-file", args=[recording.pk]), {"scenario": str(own.pk)})
    assert answer["Location"] == f"/scenarios/{own.pk}/files/"
    assert ScenarioFile.objects.get(scenario=own).lines == recording.records
    foreign = client.post(reverse("recording-file", args=[recording.pk]), {"scenario": str(uuid.UUID(int=7))})
    assert foreign.status_code == 422
    packed = client.get(reverse("recording-download", args=[recording.pk]))
    assert packed["Content-Disposition"] == 'attachment; filename="recorded-20260501-120000.jsonl.gz"'
    assert len(gzip.decompress(packed.getvalue()).splitlines()) == 18


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
    made = api.post("/api/v1/recordings/", {"cluster": "other", "seconds": 60}, format="json")
    assert (made.status_code, made.json()["state"], made.json()["job"] is not None) == (202, "queued", True)
    assert made["Location"].endswith(f"/api/v1/recordings/{made.json()['id']}/")
    taken = api.post("/api/v1/recordings/", {"cluster": "other", "seconds": 60}, format="json")
    assert (taken.status_code, taken.json()["errors"][0]["path"]) == (409, "cluster")
    for wrong in ({"cluster": "nothing", "seconds": 60}, {"cluster": "other", "seconds": 1}, {"seconds": 60}):
        assert api.post("/api/v1/recordings/", wrong, format="json").status_code == 400
    listed = api.get("/api/v1/recordings/", {"cluster": "recorded"}).json()["results"]
    assert [one["id"] for one in listed] == [str(recording.pk)]
    one = f"/api/v1/recordings/{recording.pk}/"
    assert len(gzip.decompress(api.get(f"{one}records/").getvalue()).splitlines()) == 18
    scenario = api.post(f"{one}scenario/", {"name": "a morning"}, format="json")
    assert (scenario.status_code, scenario.json()["name"]) == (201, "a morning")
    assert api.post(f"{one}scenario/", {"name": "a morning"}, format="json").status_code == 409
    given = api.post(f"{one}file/", {"scenario": scenario.json()["id"]}, format="json")
    assert (given.status_code, given.json()["kind"]) == (201, "records")
    unfinished = f"/api/v1/recordings/{made.json()['id']}/"
    assert api.post(f"{unfinished}scenario/", {}, format="json").status_code == 409
    assert api.delete(unfinished).status_code == 409
    assert api.delete(one).status_code == 403, "somebody else made it"
    assert api_as("admin").delete(one).status_code == 204
    assert api.get(one).status_code == 404


def test_a_cluster_that_is_not_connected_offers_no_recording(client_as: AsRole) -> None:
    Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    client = client_as("editor")
    link = f"a[href={reverse('recordings')}?cluster=files]"
    assert not elements(client.get(reverse("cluster", args=["files"])), link)
    page = client.get(reverse("recordings"))
    assert not page.context["can"]
    assert elements(page, ".empty")
    assert not elements(page, "#main form")
