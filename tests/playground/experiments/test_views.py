"""The pages and REST of experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.engine.releases import CURRENT
from kschedweb.playground.experiments import selectors
from kschedweb.playground.experiments.models import Experiment, Recording
from tests.support.html import elements
from tests.support.seed import experimented

pytestmark = pytest.mark.django_db
FORM = {
    "policies": ["default", "water-level"],
    "seeds": "1 2",
    "nodes": "10",
    "used": "0.5",
    "room": "2",
    "deployments": "50",
}


def test_an_editor_starts_an_experiment_and_sees_it_wait(client_as: Callable[..., Any]) -> None:
    client = client_as("editor")
    answer = client.post("/experiments/new/", FORM, follow=True)
    experiment = Experiment.objects.get()
    assert experiment.setup == {"nodes": 10, "used": 0.5, "room": 2.0, "deployments": 50}
    assert experiment.seeds == [1, 2]
    assert answer.context["experiment"] == experiment
    assert not elements(answer, "[data-figure]")
    assert f"/experiments/{experiment.pk}/" in client.get("/comparisons/").content.decode()


def test_measures_begin_when_they_are_told_to(client_as: Callable[..., Any]) -> None:
    client_as("editor").post("/experiments/new/", {**FORM, "since": "12.5"})
    assert Experiment.objects.get().setup["since"] == 45_000


def test_an_uploaded_recording_is_kept_under_its_name(client_as: Callable[..., Any]) -> None:
    content = "\n".join(selectors.demo_recording().to_csv_lines()).encode()
    upload = SimpleUploadedFile("day.csv", content)
    answer = client_as("editor").post("/experiments/new/", {**FORM, "file": upload, "recording_name": "our day"})
    assert answer.status_code == 302
    assert (Recording.objects.get().machines, Recording.objects.get().samples) == (240, 288)
    assert Experiment.objects.get().recording == Recording.objects.get()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": "one"}, "Enter whole numbers, 0 or more"),
        ({"policies": []}, "This field is required"),
        ({"nodes": "201"}, "less than or equal to 200"),
        ({"used": "0.001"}, "greater than or equal to 0.01"),
        ({"used": "0.01"}, "Must be from"),
        ({"since": "24"}, "Must lie within the 24 h that were recorded"),
        ({"file": SimpleUploadedFile("x.csv", b"one,1,101")}, "Name the recording that you upload"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Callable[..., Any], changes: dict[str, Any], message: str
) -> None:
    answer = client_as("editor").post("/experiments/new/", {**FORM, **changes})
    assert answer.status_code == 400
    [field] = changes
    assert message in " ".join(error for errors in answer.context["form"].errors.values() for error in errors)
    assert field in answer.context["form"].errors or field == "file"
    assert not Experiment.objects.exists()


def test_a_done_experiment_shows_measures_figures_and_files(client_as: Callable[..., Any], admin: Any) -> None:
    address = f"/experiments/{experimented(admin)}/"
    client = client_as("viewer")
    text = client.get(address).content.decode()
    assert "HheWaterLevelBalance beside the defaults: 20.0 points of skew" in text
    assert elements(text, "[data-figure=skew-figure]")
    assert "50 %" in text
    assert f"Run by {CURRENT.engine}: kube-scheduler" in " ".join(text.split())
    lines = b"".join(client.get(f"{address}?format=csv").streaming_content).decode().splitlines()
    assert lines[0] == "policy,hours,skew,mean,lowest,highest,engine"
    assert len(lines) == 1 + 2 * 24
    assert all(line.endswith(f',"{CURRENT.engine}"') for line in lines[1:])
    assert client.get(f"{address}?format=json").json()["count"] == 48


def test_a_viewer_starts_none(client_as: Callable[..., Any]) -> None:
    assert client_as("viewer").post("/experiments/new/", FORM).status_code == 403


def test_rest_starts_an_experiment_and_tells_what_came_of_it(api_as: Callable[..., Any], admin: Any) -> None:
    api = api_as("editor")
    body = {"policies": ["default", "future"], "seeds": [1], "setup": {"nodes": 5, "deployments": 50, "used": 0.5}}
    answer = api.post("/api/v1/experiments/start/", body, format="json")
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/experiments/{answer.data['id']}/")
    assert answer.data["state"] == "queued"
    result = api.get(f"/api/v1/experiments/{experimented(admin)}/").data
    assert [series["policy"] for series in result["series"]] == ["default", "water-level"]
    assert len(result["series"][0]["skew"]) == 24
    assert result["series"][0]["engine"] == [CURRENT.engine]
    wrong = api.post("/api/v1/experiments/start/", {**body, "recording": "none"}, format="json")
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["path"] == "recording"
