"""REST's verdicts: the same as the command's, in the form that is asked for, at once or as a job."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.changes import CHANGES
from kschedweb.jobs import inquiries
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.services import job_cancel, job_fail
from kschedweb.playground.gate import services, tasks
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.scenarios.models import ScenarioRevision
from tests.engine.studies.gates import PACKED, cluster
from tests.support import seed_runs
from tests.support.html import elements

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/gate/"
LIMITS = {"maxMoved": "10%", "maxPending": 0, "measures": {"skew_cpu_end": {"max": 90, "maxChange": "1000%"}}}
ACCEPTS = {"json": "application/json", "junit": "application/xml", "markdown": "text/markdown"}


def gate_body(**changes: Any) -> Json:
    policy = {"document": PACKED, "label": "policy.yaml"}
    defaults = {"policy": policy, "snapshot": {"objects": cluster(), "label": "cluster.json"}, "thresholds": LIMITS}
    return {name: value for name, value in (defaults | changes).items() if value is not None}


def run_gate_command(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> str:
    """Return the command's output for the same question."""
    (folder / "policy.yaml").write_text(PACKED)
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": cluster()}))
    options = ["--policy", str(folder / "policy.yaml"), "--snapshot", str(folder / "cluster.json"), "--format", form]
    options += ["--max-moved", "10%", "--max-pending", "0", "--measure", "skew_cpu_end:max=90,maxChange=1000%"]
    assert main(["gate", *options]) == 1
    return capsys.readouterr().out


@pytest.mark.parametrize("form", list(ACCEPTS))
def test_the_command_and_rest_answer_the_same(
    api_as: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    answer = api_as("editor").post(ADDRESS, gate_body(), headers={"accept": ACCEPTS[form]})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith(ACCEPTS[form])
    command_output, rest_output = run_gate_command(tmp_path, capsys, form), answer.content.decode()
    if form == "json":
        verdict = json.loads(rest_output)
        assert str(Gate.objects.get().pk) == verdict.pop("id")
        assert verdict == json.loads(command_output)
    else:
        assert rest_output == command_output


SPREAD_EVERYTHING = next(change for change in CHANGES if change.name == "spread-everything")


def test_an_upgrade_tells_its_causes_on_page_rest_gate_and_command_line(
    api_as: Callable[..., Any],
    client_as: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pod whose spread constraint selects everything goes elsewhere under the preview of 1.38."""
    monkeypatch.chdir(tmp_path)
    scenario = SPREAD_EVERYTHING.scenario or {}
    objects, document = [*scenario["objects"], *scenario["pending"]], "\n".join(PACKED.splitlines()[:2])
    body = {
        "policy": {"document": document, "label": "policy.yaml", "release": "1.38"},
        "baseline": {"document": document, "label": "policy.yaml", "release": "1.37"},
        "snapshot": {"objects": objects, "label": "cluster.json"},
        "place": "pending",
        "thresholds": {"maxMoved": 0},
    }
    verdict = api_as("editor").post(ADDRESS, body).json()
    (cause,) = verdict["upgrade"]["pods"]
    moved = cause["pods"][0]
    assert (cause["plugin"], cause["by"], moved["before"], moved["after"]) == ("PodTopologySpread", "verdict", "a", "b")
    assert SPREAD_EVERYTHING.name in cause["changes"]
    assert SPREAD_EVERYTHING.sentence in {change["sentence"] for change in verdict["upgrade"]["changes"]}
    assert verdict["verdict"] == "fail"
    page = client_as("viewer").get(f"/gate/{verdict['id']}/")
    links = {link.attributes["href"] for link in elements(page, "a") if "href" in link.attributes}
    assert f"#change-{SPREAD_EVERYTHING.name}" in links
    assert elements(page, f"#change-{SPREAD_EVERYTHING.name}")
    Path("policy.yaml").write_text(document)
    Path("cluster.json").write_text(json.dumps({"kind": "List", "items": objects}))
    options = ["--policy", "policy.yaml", "--release", "1.38", "--snapshot", "cluster.json", "--place", "pending"]
    options += ["--baseline", "policy.yaml", "--baseline-release", "1.37", "--max-moved", "0"]
    assert main(["gate", *options]) == 1
    assert json.loads(capsys.readouterr().out)["upgrade"] == verdict["upgrade"]
    assert main(["gate", *options, "--format", "markdown"]) == 1
    assert SPREAD_EVERYTHING.title in capsys.readouterr().out


def test_a_verdict_has_an_address_that_answers_in_every_form(api_as: Callable[..., Any]) -> None:
    answer = api_as("editor").post(ADDRESS, gate_body())
    assert answer.json()["verdict"] == "fail"
    address = answer["Location"]
    assert address.endswith(f"{ADDRESS}{answer.json()['id']}/")
    viewer = api_as("viewer")
    assert viewer.get(address).json() == answer.json()
    for form in ("application/xml", "text/xml"):
        response = viewer.get(address, headers={"accept": form})
        assert response["Content-Type"] == f"{form}; charset=utf-8"
        assert ElementTree.fromstring(response.content).get("failures") == "1"
    assert viewer.get(f"{address}?format=markdown").content.decode().startswith("## ❌")
    assert viewer.get(address, headers={"accept": "image/png"}).status_code == 406


def test_saved_policies_and_snapshots_are_named(
    api_as: Callable[..., Any], small: Snapshot, packed_policy: str
) -> None:
    body = gate_body(
        policy={"name": packed_policy}, baseline={"name": "default", "revision": 1}, snapshot={"cluster": "small"}
    )
    verdict = api_as("editor").post(ADDRESS, body).json()
    assert (verdict["policy"], verdict["baseline"], verdict["verdict"]) == ("packed@1", "default@1", "fail")
    assert verdict["about"] == f"small, {small.taken_at:%Y-%m-%d %H:%M} UTC"
    second_verdict = (
        api_as("editor").post(ADDRESS, body | {"snapshot": {"cluster": "small", "id": str(small.pk)}}).json()
    )
    assert second_verdict["checks"] == verdict["checks"]
    entry = AuditEntry.objects.filter(verb="gate.asked").first()
    assert entry is not None
    assert entry.actor_name == "editor"


def test_a_stored_scenario_is_played_as_it_says(api_as: Callable[..., Any], editor: User) -> None:
    revision = seed_runs.scenario(editor)
    body = gate_body(
        scenario={"id": str(revision.scenario_id), "revision": 1}, snapshot=None, thresholds={"maxMoved": 0}
    )
    verdict = api_as("editor").post(ADDRESS, body).json()
    assert verdict["about"] == "scenario rush, revision 1"
    assert (verdict["nodes"], verdict["pods"]) == (6, 21)
    assert {check["name"] for check in verdict["checks"]} == {"newly_unschedulable", "moved"}


def test_files_are_sent_as_a_form_beside_the_rest_of_the_question(
    api_as: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def file(name: str, content: bytes) -> io.BytesIO:
        upload = io.BytesIO(content)
        upload.name = name
        return upload

    dump = gzip.compress(json.dumps({"kind": "List", "items": cluster()}).encode())
    limits = b"maxMoved: 10%\nmaxPending: 0\nmeasures: {skew_cpu_end: {max: 90, maxChange: 1000%}}\n"
    form = {
        "policy": file("policy.yaml", PACKED.encode()),
        "objects": file("cluster.json", dump),
        "thresholds": file("thresholds.yaml", limits),
        "request": json.dumps({"seed": 1}),
    }
    answer = api_as("editor").post(ADDRESS, form, format="multipart", headers={"accept": "text/markdown"})
    assert answer.status_code == 200, answer.content
    assert answer.content.decode() == run_gate_command(tmp_path, capsys, "markdown")


def test_a_key_gives_the_first_answer_again_in_any_form(api_as: Callable[..., Any]) -> None:
    api, key = api_as("editor"), {"Idempotency-Key": "commit-1"}
    first = api.post(ADDRESS, gate_body(), headers=key)
    replayed = api.post(ADDRESS, gate_body(), headers={**key, "accept": "text/markdown"})
    assert replayed["Idempotency-Replayed"] == "true"
    assert replayed.content.decode().startswith("## ❌")
    assert Gate.objects.count() == 1
    assert api.post(ADDRESS, gate_body(seed=2), headers=key).status_code == 422
    assert first.status_code == 200


def test_names_that_no_database_takes_are_kept_readable(api_as: Callable[..., Any]) -> None:
    objects = cluster()
    objects[-1]["metadata"]["name"] = "we\x00b"
    objects[0]["metadata"]["name"] = "no\x00de"
    body = gate_body(snapshot={"objects": objects}, thresholds={"maxMoved": 0, "maxPending": 0})
    response = api_as("editor").post(ADDRESS, body)
    assert response.status_code == 200
    assert "default/we\ufffdb" in {pod["pod"] for check in response.json()["checks"] for pod in check["pods"]}
    assert "\\u0000" not in json.dumps(Gate.objects.get().verdict)


# What was asked before.


def list_verdicts(api: Any, **query: str) -> list[Json]:
    answer = api.get(ADDRESS, query)
    assert answer.status_code == 200, answer.content
    verdicts: list[Json] = answer.json()["results"]
    return verdicts


def test_verdicts_are_listed_newest_first_and_lead_to_their_addresses(api_as: Callable[..., Any], editor: User) -> None:
    api = api_as("editor")
    posted = [
        api.post(ADDRESS, gate_body(thresholds=limits)).json() for limits in (LIMITS, {"maxNewlyUnschedulable": "any"})
    ]
    verdicts = list_verdicts(api_as("viewer"))
    for row, full_verdict in zip(verdicts, posted[::-1], strict=True):
        names = ("id", "verdict", "policy", "baseline", "about", "seed")
        assert {name: row[name] for name in names}.items() <= full_verdict.items()
    assert [verdict["verdict"] for verdict in verdicts] == ["pass", "fail"]
    assert verdicts[1]["thresholds"] == posted[0]["thresholds"]
    assert (verdicts[0]["about"], verdicts[0]["created_by"], verdicts[0]["state"]) == (
        "cluster.json",
        "editor",
        "succeeded",
    )
    assert api.get(f"{ADDRESS}{verdicts[0]['id']}/").json() == posted[1]
    first = api.get(ADDRESS, {"limit": 1}).json()
    second = api.get(first["next"]).json()
    assert [row["id"] for page in (first, second) for row in page["results"]] == [verdict["id"] for verdict in verdicts]


def test_verdicts_are_found_by_what_came_of_them_and_by_name(
    api_as: Callable[..., Any], small: Snapshot, packed_policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = api_as("editor")
    passes = api.post(
        ADDRESS, gate_body(policy={"name": "default"}, snapshot={"cluster": "small"}, thresholds=None)
    ).json()
    fails = api.post(ADDRESS, gate_body(baseline={"name": "default"})).json()
    monkeypatch.setattr(services, "AT_ONCE", -1)
    waits = api.post(ADDRESS, gate_body(policy={"name": packed_policy})).json()
    for filters, ids in (
        ({"verdict": "pass"}, [passes["id"]]),
        ({"verdict": "fail"}, [fails["id"]]),
        ({"verdict": "none"}, [waits["id"]]),
        ({"search": "SMALL,"}, [passes["id"]]),
        ({"search": "default@1", "verdict": "fail"}, [fails["id"]]),
        ({"search": "packed@1"}, [waits["id"]]),
        ({"search": "nothing"}, []),
    ):
        assert [verdict["id"] for verdict in list_verdicts(api, **filters)] == ids, filters
    (row,) = list_verdicts(api, verdict="none")
    assert (row["verdict"], row["state"]) == (None, "queued")
    rejection = api.get(ADDRESS, {"verdict": "maybe"})
    assert (rejection.status_code, rejection.json()["errors"][0]["path"]) == (400, "verdict")


def test_verdicts_on_scenarios_that_are_not_shared_are_not_listed_to_others(
    api_as: Callable[..., Any], editor: User
) -> None:
    revision = seed_runs.scenario(editor, shared=False)
    api_as("editor").post(
        ADDRESS, gate_body(scenario={"id": str(revision.scenario_id)}, snapshot=None, thresholds=None)
    )
    assert [len(list_verdicts(api_as(role))) for role in ("editor", "admin", "viewer")] == [1, 1, 0]


# As a job.


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six pods and four nodes are too many to be judged at once."""
    monkeypatch.setattr(services, "AT_ONCE", 23)


def test_what_is_large_is_a_job_to_follow(api_as: Callable[..., Any], large: None) -> None:
    api = api_as("editor")
    answer = api.post(ADDRESS, gate_body(), headers={"accept": "application/xml"})
    assert answer.status_code == 202
    assert answer["Content-Type"] == "application/json"  # there is nothing yet that JUnit could say
    assert (answer["Retry-After"], answer.json()["state"]) == ("2", "queued")
    waits = api.get(answer["Location"], headers={"accept": "application/xml"})
    assert (waits.status_code, waits.json()) == (202, answer.json())
    job = Job.objects.get()
    assert answer.json()["job"] == str(job.pk)
    assert job.restartable
    tasks.judge(str(job.pk))
    response = api.get(answer["Location"])
    assert response.status_code == 200
    job.refresh_from_db()
    assert (job.state, job.result) == (JobState.SUCCEEDED, {"gate": answer.json()["id"], "verdict": "fail"})
    gate = Gate.objects.get()
    assert gate.verdict is not None
    assert (gate.passed, gate.objects_given) == (False, None)
    assert {key: response.json()[key] for key in ("checks", "measures", "thresholds")} == {
        key: gate.verdict[key] for key in ("checks", "measures", "thresholds")
    }


def test_at_once_and_as_a_job_come_to_the_same(
    api_as: Callable[..., Any], small: Snapshot, packed_policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, body = (
        api_as("editor"),
        gate_body(policy={"name": packed_policy}, snapshot={"cluster": "small"}, place="pending"),
    )
    at_once = api.post(ADDRESS, body).json()
    monkeypatch.setattr(services, "AT_ONCE", -1)
    later = api.post(ADDRESS, body)
    assert later.status_code == 202
    tasks.judge(str(Job.objects.get().pk))
    answer = api.get(later["Location"]).json()
    assert {**answer, "id": ""} == {**at_once, "id": ""}


def test_what_takes_too_long_becomes_a_job(api_as: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    body = gate_body(snapshot={"objects": cluster(20, 400)})
    assert api_as("editor").post(ADDRESS, body).status_code == 202


def test_one_is_judged_at_once_at_a_time(api_as: Callable[..., Any]) -> None:
    with services._turn.take():
        assert api_as("editor").post(ADDRESS, gate_body()).status_code == 202
    assert api_as("editor").post(ADDRESS, gate_body()).status_code == 200


def test_nobody_has_more_than_ten_waiting(
    api_as: Callable[..., Any], large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inquiries, "MOST_WAITING", 2)
    api = api_as("editor")
    assert [api.post(ADDRESS, gate_body()).status_code for _ in range(3)] == [202, 202, 409]
    tasks.judge(str(Job.objects.earliest("created_at").pk))
    assert api.post(ADDRESS, gate_body()).status_code == 202
    assert api_as("admin").post(ADDRESS, gate_body()).status_code == 202


def test_a_job_that_came_to_nothing_says_so(api_as: Callable[..., Any], large: None) -> None:
    api = api_as("editor")
    addresses = [api.post(ADDRESS, gate_body())["Location"] for _ in range(2)]
    first, second = Job.objects.order_by("created_at")
    Job.objects.filter(pk=first.pk).update(state=JobState.RUNNING, attempt=1)
    first.refresh_from_db()
    job_fail(first, "The worker had no memory left.")
    job_cancel(job=second, user=None)
    failed_response, cancelled_response = (api.get(address) for address in addresses)
    assert (failed_response.status_code, failed_response.json()["detail"]) == (422, "The worker had no memory left.")
    assert cancelled_response.status_code == 409
    assert "was cancelled" in cancelled_response.json()["detail"]


def test_a_snapshot_that_is_gone_before_its_job_is_said(
    api_as: Callable[..., Any], small: Snapshot, large: None
) -> None:
    api = api_as("editor")
    address = api.post(ADDRESS, gate_body(snapshot={"cluster": "small"}))["Location"]
    small.delete()
    tasks.judge(str(Job.objects.get().pk))
    assert "was deleted before there was a verdict" in api.get(address).json()["detail"]


# What is refused.


@pytest.mark.parametrize(
    ("changes", "path", "message", "status"),
    [
        ({"policy": None}, "policy", "required", 400),
        ({"policy": {}}, "policy", "one of both", 400),
        ({"policy": {"name": "default", "document": "x"}}, "policy", "one of both", 400),
        ({"policy": {"document": "x", "revision": 1}}, "policy", "goes with the name", 400),
        ({"policy": {"name": "nobody"}}, "policy.name", "nobody", 404),
        ({"policy": {"name": "default", "revision": 99}}, "policy.name", "99", 404),
        ({"policy": {"document": "kind: Pod"}}, "policy", "'apiVersion' is missing", 422),
        ({"policy": {"document": "a: [1"}}, "policy", "line", 422),
        ({"baseline": {"document": "{"}}, "baseline", "", 422),
        ({"snapshot": None}, "", "one of both", 400),
        ({"scenario": {"id": "00000000-0000-0000-0000-000000000007"}}, "", "one of both", 400),
        ({"snapshot": {}}, "snapshot", "one of both", 400),
        ({"snapshot": {"cluster": "nowhere"}}, "snapshot.cluster", "nowhere", 404),
        ({"snapshot": {"objects": []}}, "snapshot", "there is no node in it", 422),
        ({"snapshot": {"objects": {"kind": "List", "items": []}}}, "snapshot", "there is no node in it", 422),
        ({"snapshot": {"objects": [7]}}, "snapshot.objects", "a number is not", 400),
        ({"thresholds": {"maxMoved": "lots"}}, "thresholds.maxMoved", "percentage", 400),
        ({"thresholds": {"most": 1}}, "thresholds.most", "is not known", 400),
        ({"thresholds": {"measures": {"speed": {"max": 1}}}}, "thresholds.measures['speed']", "not measured", 422),
        ({"place": "none"}, "place", "not a valid choice", 400),
        ({"seed": -1}, "seed", "greater than or equal to 0", 400),
    ],
)
def test_wrong_input_is_a_problem_with_its_place(
    api_as: Callable[..., Any], changes: Json, path: str, message: str, status: int
) -> None:
    answer = api_as("editor").post(ADDRESS, gate_body(**changes))
    assert answer.status_code == status, answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    errors = answer.json()["errors"]
    assert errors[0]["path"] == path
    assert message in errors[0]["message"]
    assert not Gate.objects.exists()


@pytest.mark.parametrize("place", ["extender", "plugin"])
def test_a_policy_with_a_secret_is_refused_since_it_would_be_kept(api_as: Callable[..., Any], place: str) -> None:
    secret = "c2VjcmV0LXRoYXQtbm9ib2R5LXJlYWRz"
    tls = {"keyData": secret, "certData": secret}
    extender = {"urlPrefix": "https://192.0.2.1", "enableHTTPS": True, "filterVerb": "filter", "tlsConfig": tls}
    provider = {"metricProvider": {"type": "Prometheus", "address": "http://192.0.2.1", "token": secret}}
    plugin_config = {
        "name": "LoadVariationRiskBalancing",
        "args": provider,
    }
    document = json.loads(
        json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})
    )
    if place == "extender":
        document["extenders"] = [extender]
    else:
        plugins = {"score": {"enabled": [{"name": plugin_config["name"]}]}}
        document["profiles"] = [
            {"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": [plugin_config]},
        ]
    answer = api_as("editor").post(ADDRESS, gate_body(policy={"document": json.dumps(document)}))
    assert answer.status_code == 422
    assert secret not in answer.content.decode()
    assert not Gate.objects.exists()


def test_a_form_with_what_cannot_be_read_names_the_part(api_as: Callable[..., Any]) -> None:
    def post(**parts: Any) -> Any:
        files = {name: io.BytesIO(content) for name, content in parts.items() if isinstance(content, bytes)}
        for name, upload in files.items():
            upload.name = f"{name}.txt"
        return api_as("editor").post(ADDRESS, parts | files, format="multipart")

    for parts, path, message in (
        ({"policy": PACKED.encode(), "request": "["}, "request", "is not JSON"),
        ({"policy": PACKED.encode(), "request": "[]"}, "request", "must be a JSON object"),
        ({"policy": b"\xff\xff", "request": "{}"}, "policy", "This is not text"),
        ({"policy": PACKED.encode(), "objects": b"{"}, "objects", "This is not JSON"),
        ({"policy": PACKED.encode(), "objects": b"\x1f\x8b\x08junk"}, "objects", "gzip"),
        ({"policy": PACKED.encode(), "thresholds": b"a: *b"}, "thresholds", "the alias *b"),
    ):
        answer = post(**parts)
        assert answer.status_code == 400, answer.content
        assert answer.json()["errors"][0]["path"] == path
        assert message in answer.json()["errors"][0]["message"]


def test_a_verdict_on_a_scenario_that_is_not_shared_is_seen_by_its_owner(
    api_as: Callable[..., Any], editor: User
) -> None:
    revision: ScenarioRevision = seed_runs.scenario(editor, "mine", shared=False)
    body = gate_body(scenario={"id": str(revision.scenario_id)}, snapshot=None)
    address = api_as("editor").post(ADDRESS, body)["Location"]
    assert api_as("viewer").get(address).status_code == 404
    assert api_as("admin").get(address).status_code == 200
    assert api_as("admin").post(ADDRESS, body).status_code == 200
    approver = api_as("approver")
    assert approver.get(address).status_code == 404
    assert approver.post(ADDRESS, body).status_code == 403


def test_a_form_that_is_sent_again_is_the_same_whatever_parts_it(api_as: Callable[..., Any]) -> None:
    """Programs make up another boundary each time."""
    request = json.dumps({"snapshot": {"objects": cluster()}})

    def post(boundary: str, policy: str) -> Any:
        parts = {"request": request, 'policy"; filename="policy.yaml': policy}
        lines = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{parts[name]}\r\n' for name in parts
        ]
        body = "".join(lines) + f"--{boundary}--\r\n"
        kind, key = f"multipart/form-data; boundary={boundary}", {"Idempotency-Key": "commit"}
        return api_as("editor").generic("POST", ADDRESS, body, content_type=kind, headers=key)

    assert post("first", PACKED).status_code == 200
    replayed = post("second", PACKED)
    assert (replayed.status_code, replayed["Idempotency-Replayed"]) == (200, "true")
    assert post("first", PACKED + "\n").status_code == 422


def test_what_can_be_asked_of_the_gate_is_told(api_as: Callable[..., Any]) -> None:
    answer = api_as("editor").options("/api/v1/gate/")
    assert answer.status_code == 200
    assert "Location" not in answer
