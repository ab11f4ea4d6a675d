"""An experiment is taken along: its report, the form filled for another run, and the command that does it again."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.experiment import UseRecording
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.playground.experiments import selectors, services
from kschedweb.playground.experiments.models import Experiment
from kschedweb.policies.services import policy_create, revision_save
from tests.conftest import ROOT
from tests.support.html import elements
from tests.support.seed import experimented

pytestmark = pytest.mark.django_db
SETUP = {"nodes": 3, "deployments": 20, "used": 0.4, "since": 1800, "pace": 60}
POLICY = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: HheWaterLevelBalance, weight: 3}]}}}]
"""
OLD = {"release": "1.36", "featureGates": {"GenericWorkload": True}}


@pytest.fixture
def experiment(admin: User) -> Experiment:
    """An hour under a built-in policy, the oracle, and a saved revision that is not its policy's newest."""
    policy = policy_create(name="mine", document=POLICY, process=OLD, author=admin)
    revision_save(policy=policy, document=f"{POLICY}# newer\n", author=admin, expected=1)
    hour = "\n".join(UseRecording.generate(np.random.default_rng(2), 40, 12).to_csv_lines())
    recording = services.recording_add(user=admin, name="Our hour!", content=hour.encode(), limit=1 << 20)
    policies = ["default", "mine@1", "future"]
    started = services.experiment_start(user=admin, recording=recording, policies=policies, seeds=[1, 7], setup=SETUP)
    services.experiment_run(experiment=started, step=lambda text, completed, total: None)
    Experiment.objects.update(job=None)
    return selectors.experiment_get(started.pk)


def test_the_printed_command_gives_the_measures_of_the_page(
    client_as: Callable[..., Any], experiment: Experiment, tmp_path: Path
) -> None:
    client = client_as("viewer")
    page = client.get(f"/experiments/{experiment.pk}/")
    for link in elements(page, "#repeat a[download]"):
        (tmp_path / link["download"]).write_bytes(client.get(link["href"]).content)
    [button] = elements(page, "#repeat [data-copy]")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", button["data-copy"]],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads(done.stdout)
    assert list(answer["policies"]) == ["default", "future", "mine@1"]
    for series in page.context["series"]:
        printed = answer["policies"][series.policy]
        assert {name: printed[name] for name in series.measures} == pytest.approx(series.measures)
    engines = {run["policy"]: run.get("engine") for run in answer["runs"]}
    old = RELEASES["1.36"].with_gates(OLD["featureGates"])  # type: ignore[arg-type]
    assert engines == {"default": None, "future": None, "mine@1": old.engine}
    text = " ".join(page.content.decode().split())
    assert f"Run by {CURRENT.engine}: kube-scheduler" in text
    assert f"Run by {old.engine}: mine" in text


def test_rest_has_the_command_and_the_recording(api_as: Callable[..., Any], admin: User) -> None:
    """The recording that is made up comes out of its file as it went in."""
    address = f"/api/v1/experiments/{experimented(admin)}/"
    api = api_as("viewer")
    repeat = api.get(address).data["repeat"]
    assert repeat["command"].splitlines()[0] == ("python -m kschedweb.engine.experiment run made-up-day.csv.gz \\")
    assert repeat["files"] == [{"name": "made-up-day.csv.gz", "address": f"{address}recording/"}]
    recorded, made_up = (
        UseRecording.from_file_bytes(api.get(f"{address}recording/").content),
        selectors.demo_recording(),
    )
    assert recorded.names == made_up.names
    assert np.array_equal(recorded.percent, made_up.percent)


def test_a_policy_that_was_deleted_is_named_and_has_no_link(client_as: Callable[..., Any], admin: User) -> None:
    experiment = Experiment.objects.get(pk=experimented(admin))
    Experiment.objects.update(policies=["default", "gone@3"])
    page = client_as("editor").get(f"/experiments/{experiment.pk}/")
    assert [link["download"] for link in elements(page, "#repeat a[download]")] == ["made-up-day.csv.gz"]
    assert "gone-3.yaml" in page.content.decode()


def test_run_again_opens_the_form_as_it_was(client_as: Callable[..., Any], experiment: Experiment) -> None:
    client, address = client_as("editor"), f"/experiments/{experiment.pk}/"
    [link] = [link["href"] for link in elements(client.get(address), "a") if link.text.strip() == "Run again"]
    assert urlsplit(link).path == "/experiments/new/"
    form = client.get(link).context["form"]
    fields = {bound.name: bound.value() for bound in form if bound.value() not in (None, "")}
    assert client.post("/experiments/new/", fields).status_code == 302
    again = Experiment.objects.exclude(pk=experiment.pk).get()
    assert (again.recording, again.policies, again.seeds, again.setup) == (
        experiment.recording, experiment.policies, experiment.seeds, experiment.setup,
    )  # fmt: skip
    viewed = client_as("viewer").get(address)
    assert "Run again" not in viewed.content.decode()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("[]", "Enter a JSON object."),
        ("{", "Enter a JSON object."),
        ('{"nodes": 3}', "Enter nodes in its own field."),
        ('{"colour": 1}', "colour: is not known"),
        ('{"pace": 0}', "pace: Must be above 0."),
    ],
)
def test_other_settings_that_cannot_be_are_said_there(client_as: Callable[..., Any], other: str, message: str) -> None:
    fields = {"policies": "default", "seeds": "1", "nodes": 3, "used": 0.4, "room": 2, "deployments": 20}
    answer = client_as("editor").post("/experiments/new/", {**fields, "other": other})
    assert answer.status_code == 400
    assert message in answer.context["form"].errors["other"][0]


def test_a_report_has_all_that_a_page_has(client_as: Callable[..., Any], experiment: Experiment) -> None:
    client, address = client_as("viewer"), f"/experiments/{experiment.pk}/report/"
    report = client.get(f"{address}?format=json").json()
    assert report == {**client.get(f"/api/v1{address}").json(), "made_at": report["made_at"]}
    assert report["kind"] == "ExperimentReport"
    values = next(measure["values"] for measure in report["measures"] if measure["name"] == "skew")
    assert [(value["policy"], value["seed"]) for value in values] == [
        (policy, seed) for policy in experiment.policies for seed in experiment.seeds
    ]
    skews = {(run.policy, run.seed): run.measures["skew"] for run in experiment.runs.all()}
    assert {(value["policy"], value["seed"]): value["value"] for value in values} == pytest.approx(skews, abs=1e-4)
    documents = {document["name"]: document["text"] for document in report["documents"]}
    assert documents["Policy mine@1"] == POLICY
    assert documents["Command"] == report["command"]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}?format=csv").getvalue().decode())))
    assert sum(row["part"] == "measure" and row["name"] == "skew" for row in rows) == 6
    page = client.get(address)
    assert page["Content-Disposition"].endswith(f'filename="experiment-{experiment.pk}-report.html"')
    assert len(elements(page, "[data-figure]")) == 2


def test_there_is_a_report_once_a_run_is_done(client_as: Callable[..., Any]) -> None:
    experiment = services.experiment_start(user=None, recording=None, policies=["default"], seeds=[1], setup=SETUP)
    client, address = client_as("admin"), f"/experiments/{experiment.pk}/"
    assert client.get(f"{address}report/").status_code == 409
    assert "report/" not in client.get(address).content.decode()
    Experiment.objects.update(job=None)
    assert client.get(f"{address}report/").status_code == 409
