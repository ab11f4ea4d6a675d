"""The gate's pages: what to paste, what is tried, and the verdict as a page and as files."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.engine.__main__ import main
from kschedweb.engine.studies.gate import command, thresholds
from kschedweb.engine.studies.measure.registry import rank_of
from kschedweb.jobs.models import Job
from kschedweb.playground.gate import services, tasks
from kschedweb.playground.gate.models import Gate
from tests.engine.studies.gates import PACKED, cluster
from tests.support import seed_runs
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db
FORM = {"policy": "packed@1", "on": "cluster:small", "moved": "10%", "newly": "0", "skew": "", "pending": ""}


def gate_page(client: Any, **fields: str) -> str:
    answer = client.get(f"/gate/?{urlencode({**FORM, **fields})}")
    assert answer.status_code == 200, answer.content.decode()
    return html_of(answer)


def snippets(page: str) -> list[str]:
    """Return the snippets to paste, in their order."""
    return [unescape(text) for text in re.findall(r'<pre class="code"[^>]*><code>(.*?)</code>', page, re.DOTALL)]


def test_the_command_on_the_page_runs_as_it_stands(
    client_as: Callable[..., Any],
    small: Snapshot,
    packed_policy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measures = "skew_cpu_end max=80 maxChange=1000%\nnodes_empty: min=1"
    client = client_as("viewer")
    page = gate_page(client, baseline="default@1", place="pending", measures=measures, pending="3", skew="70")
    command, dump, call = snippets(page)
    assert dump.startswith("kubectl get nodes,pods,namespaces,")
    monkeypatch.chdir(tmp_path)
    for name, part in (
        ("policy.yaml", "packed/download/?revision=1"),
        ("baseline.yaml", "default/download/?revision=1"),
    ):
        assert f'href="/policies/{part}"' in page
        Path(name).write_bytes(client.get(f"/policies/{part}").content)
    Path("cluster.json").write_text(json.dumps({"kind": "List", "items": cluster()}))
    words = _words(command)
    assert words[:3] == ["python", "-m", "kschedweb.engine"]
    assert main(words[3:]) == 0
    assert Path("verdict.xml").read_text().startswith("<?xml")
    assert words[words.index("--place") + 1] == "pending"
    assert "http://testserver/api/v1/gate/" in call


def test_the_call_on_the_page_asks_the_same_as_the_command(
    client_as: Callable[..., Any], api_as: Callable[..., Any], small: Snapshot, packed_policy: str, tmp_path: Path
) -> None:
    words = _words(snippets(gate_page(client_as("viewer"), measures="nodes_empty min=1"))[-1])
    request = next(word for word in words if word.startswith("request=")).removeprefix("request=")
    body = json.loads(request)
    assert body == {
        "snapshot": {"cluster": "small"},
        "thresholds": {
            "maxNewlyUnschedulable": 0.0,
            "maxMoved": "10%",
            "measures": {"nodes_empty": {"min": 1.0}},
        },
    }
    answer = api_as("editor").post("/api/v1/gate/", {**body, "policy": {"document": PACKED}})
    assert answer.json()["thresholds"] == body["thresholds"]


def _words(text: str) -> list[str]:
    import shlex

    return shlex.split(text.replace("\\\n", " "))


def test_a_scenario_is_exported_for_the_command_and_named_in_the_call(
    client_as: Callable[..., Any], editor: User, packed_policy: str
) -> None:
    revision = seed_runs.scenario(editor)
    page = gate_page(client_as("editor"), on=f"scenario:{revision.scenario_id}")
    command, call = snippets(page)
    assert "--scenario scenario.json.gz" in command
    assert "--snapshot" not in command
    assert f'"scenario": {{"id": "{revision.scenario_id}"}}' in call
    assert f'href="/scenarios/{revision.scenario_id}/export/"' in page


def test_page_rest_and_command_hold_a_policy_to_the_same_where_nothing_is_said(
    client_as: Callable[..., Any], api_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    page = client_as("viewer").get("/gate/")
    body = {"policy": {"document": PACKED}, "snapshot": {"cluster": "small"}}
    answer = api_as("editor").post("/api/v1/gate/", body).json()
    options = argparse.ArgumentParser()
    command.add_question_arguments(options)
    limits_said = command.merge_thresholds(options.parse_args(["--policy", "policy.yaml"]))
    assert (
        page.context["form"].thresholds.plain == answer["thresholds"] == thresholds.read_thresholds(limits_said).plain
    )


def test_without_anything_asked_the_page_proposes_something(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    page = client_as("viewer").get("/gate/")
    assert "--max-newly-unschedulable 0" in snippets(page.content.decode())[0]
    assert not elements(page, "button[value=try]")
    assert elements(client_as("editor").get("/gate/"), "button[value=try]")


def test_without_a_cluster_and_a_scenario_nothing_can_be_asked(client_as: Callable[..., Any], db: None) -> None:
    assert client_as("viewer").get("/gate/").status_code == 200


def test_writing_the_command_leads_to_an_address_that_says_all(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    answer = client_as("viewer").post("/gate/", {**FORM, "moved": "23%", "do": "show"})
    assert answer.status_code == 302
    assert "csrf" not in answer["Location"]
    command = snippets(client_as("viewer").get(answer["Location"]).content.decode())[0]
    assert "--max-moved 23%" in command


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"moved": "much"}, "moved", "It must be a number from 0 on, or a percentage"),
        ({"pending": "1.5"}, "pending", "It must be a whole number"),
        ({"skew": "-1"}, "skew", "It must be at least 0"),
        ({"newly": "all"}, "newly", "It must be a number from 0 on"),
        ({"measures": "skew_cpu"}, "measures", "Line 1: write a name and limits"),
        ({"measures": "nodes_empty min=1\nskew_cpu most=3"}, "measures", "Line 2: write a name and limits"),
        ({"measures": "skew_cpu max=x"}, "measures", "skew_cpu.max: must be a number"),
        ({"policy": "none@1"}, "policy", "Select a valid choice"),
        ({"on": "cluster:none"}, "on", "Select a valid choice"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str, fields: dict[str, str], field: str, message: str
) -> None:
    answer = client_as("viewer").get(f"/gate/?{urlencode({**FORM, **fields})}")
    assert answer.status_code == 400
    page = answer.content.decode()
    error_match = re.search(rf'id="id_{field}-error">(.*?)</p>', page, re.DOTALL)
    assert error_match is not None
    assert message in unescape(error_match[1])
    assert not snippets(page)


def test_trying_leads_to_the_verdict_and_its_files(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    client = client_as("editor")
    answer = client.post("/gate/", {**FORM, "do": "try"})
    gate = Gate.objects.get()
    assert answer["Location"] == f"/gate/{gate.pk}/"
    page = client.get(answer["Location"])
    [heading] = elements(page, "h1")
    assert heading.text.startswith("packed@1 fails on small")
    [moved_check] = [check for check in page.context["checks"] if check["name"] == "moved"]
    assert (moved_check["passed"], {pod["plugin"] for pod in moved_check["pods"]}) == (False, {"NodeResourcesFit"})
    for form, begins in (("json", "{"), ("junit", "<?xml"), ("markdown", "## ❌")):
        file = client.get(f"{answer['Location']}?format={form}")
        assert file.content.decode().startswith(begins)
        assert "attachment" in file["Content-Disposition"]
    assert f"/gate/{gate.pk}/" in client_as("viewer").get("/gate/").content.decode()


def test_measures_go_by_group_and_percentages_change_by_points(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    client = client_as("editor")
    address = client.post("/gate/", {**FORM, "do": "try"})["Location"]
    gate = Gate.objects.get()
    assert gate.verdict is not None
    for entry in gate.verdict["measures"]:
        if entry["unit"] == "%":
            entry |= {"baseline": 10.0, "policy": 14.08}
    gate.verdict["measures"].reverse()  # as an older verdict may have them
    gate.save()
    page = client.get(address)
    ranks = [rank_of(measure["name"]) for measure in page.context["changed"]]
    assert ranks == sorted(ranks)
    assert {measure["change"] for measure in page.context["changed"] if measure["unit"] == "%"} == {"+4.08 points"}
    assert all(measure["better"] is measure["worse"] is False for measure in page.context["same"])
    rows = [*page.context["changed"], *page.context["same"]]
    assert {row["name"] for row in rows} == {measure["name"] for measure in gate.verdict["measures"]}
    assert elements(page, "tr.rowgroup")


def test_an_unknown_measure_is_said_beside_its_field_when_it_is_tried(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    answer = client_as("editor").post("/gate/", {**FORM, "do": "try", "measures": "speed max=1"})
    assert answer.status_code == 400
    [error] = answer.context["form"].errors["measures"]
    assert "is not measured here; measured are unscheduled" in error
    assert not Gate.objects.exists()


def test_viewers_try_nothing(client_as: Callable[..., Any], small: Snapshot, packed_policy: str) -> None:
    assert client_as("viewer").post("/gate/", {**FORM, "do": "try"}).status_code == 403


def test_a_verdict_that_takes_longer_shows_how_far_it_is(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 23)
    client = client_as("editor")
    address = client.post("/gate/", {**FORM, "do": "try"})["Location"]
    assert "Waiting for a worker" in client.get(address).content.decode()
    assert all("Queued" in client.get(page).content.decode() for page in (address, "/gate/"))
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert 'hx-trigger="every 1s"' in part
    assert "<h1" not in part
    tasks.judge(str(Job.objects.get().pk))
    response = client.get(address, headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"
    assert client.get(address).context["gate"].passed is False


def test_what_was_asked_before_is_filtered_and_the_question_stays(
    client_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    client = client_as("editor")
    for limit in ("100%", "0"):
        client.post("/gate/", {**FORM, "moved": limit, "do": "try"})
    page = client.get("/gate/", {**FORM, "verdict": "fail", "search": "packed"})
    assert [gate.passed for gate in page.context["page"]] == [False]
    assert snippets(page.content.decode()) == snippets(gate_page(client))
    nothing = client.get("/gate/", {"search": "elsewhere"})
    assert nothing.context["page"].paginator.count == 0
    assert elements(nothing, "#asked input[name=search][value=elsewhere]")
    assert elements(nothing, "#asked .empty a[href=/gate/]")


@pytest.mark.parametrize(
    ("version", "releases", "is_version_unknown"),
    [
        ("", ("1.35", "1.37"), True),
        ("v1.36.1", ("1.36", "1.37"), False),
        ("v1.37.2", ("1.37", "1.38"), False),
        ("v1.38.0", None, False),
    ],
)
def test_a_cluster_page_says_from_where_an_upgrade_is_rehearsed(
    client_as: Callable[..., Any],
    small: Snapshot,
    version: str,
    releases: tuple[str, str] | None,
    is_version_unknown: bool,
) -> None:
    """A cluster that names no version has the link too, and is told so; one of the newest release has one to the
    preview, and one of the preview has none."""
    Cluster.objects.filter(pk=small.cluster_id).update(server_version=version)
    page = client_as("editor").get("/clusters/small/")
    links = [unescape(element["href"]) for element in elements(page, "a") if "Rehearse" in element.text]
    queries = [parse_qs(urlsplit(link).query) for link in links]
    assert [(query["baseline_release"][0], query["release"][0]) for query in queries] == (
        [releases] if releases else []
    )
    assert (
        "The Kubernetes version of the cluster is unknown" in " ".join(page.content.decode().split())
    ) is is_version_unknown


@pytest.mark.parametrize(
    ("version", "releases", "versions"),
    [
        ("v1.35.9-gke.100", ("1.35", "1.37"), ("1.35.4", "1.37.2")),
        ("v1.37.2", ("1.37", "1.38"), ("1.37.2", "1.38.0-beta.0")),
    ],
)
def test_a_cluster_page_asks_what_an_upgrade_changes(
    client_as: Callable[..., Any],
    small: Snapshot,
    version: str,
    releases: tuple[str, str],
    versions: tuple[str, str],
) -> None:
    """The link leads to the form with both releases; tried, the verdict names them."""
    Cluster.objects.filter(pk=small.cluster_id).update(server_version=version)
    client = client_as("editor")
    (link,) = [
        element["href"] for element in elements(client.get("/clusters/small/"), "a") if "Rehearse" in element.text
    ]
    form = client.get(unescape(link)).context["form"]
    assert form.is_valid(), form.errors
    question = form.cleaned_data
    assert (question["on"], question["baseline_release"], question["release"]) == ("cluster:small", *releases)
    client.post("/gate/", {**form.data, "do": "try"})
    gate = Gate.objects.get()
    assert [process["release"] for process in (gate.baseline_process, gate.process)] == list(releases)
    assert gate.verdict is not None
    assert gate.verdict["policy"] == f"default@1 as kube-scheduler {versions[1]}"
    assert (
        gate.verdict["baseline"] == gate.baseline_title == f"kube-scheduler's defaults as kube-scheduler {versions[0]}"
    )
