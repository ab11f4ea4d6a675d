"""Dry runs of the descheduler on the page and over REST: answers, files, fights, jobs and errors."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.moves import tasks
from kschedweb.advice.moves.models import Question
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.services import prices_save
from kschedweb.playground.runs.models import Run
from kschedweb.playground.runs.selectors import load_outcome
from kschedweb.policies import services as policies
from tests.support import seed_descheduling, seed_runs
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db

# Of the demo, whose nodes request 20 to 90 percent of their CPU: the descheduler empties the emptiest.
SPARE = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: spare
    pluginConfig:
      - name: HighNodeUtilization
        args: {thresholds: {cpu: 50}}
    plugins: {balance: {enabled: [HighNodeUtilization]}}
"""
PRICES = """\
apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - {instanceType: m6i.2xlarge, price: %s}
"""
API = "/api/v1/descheduling/"


@pytest.fixture
def spare(editor: User) -> str:
    return policies.policy_create(name="spare", document=SPARE, author=editor).name


def get_page(client: Any, **parameters: object) -> Any:
    return client.get(f"/descheduling/?{urlencode({'cluster': 'demo', **parameters})}")


def test_the_page_opens_with_what_the_starting_policy_would_do(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    opened = get_page(client)
    assert opened.context["answer"] == get_page(client, ask="1").context["answer"]
    assert elements(opened, "form.capacity-form")


def test_what_takes_long_opens_with_the_form(client_as: Callable[..., Any], demo: Snapshot, slow: None) -> None:
    page = get_page(client_as("viewer"))
    assert (page.status_code, "answer" in page.context) == (200, False)
    assert elements(page, "form.capacity-form")
    assert not elements(page, "[data-later]")


def test_without_a_cluster_nothing_can_be_asked(client_as: Callable[..., Any], no_cluster: None) -> None:
    assert client_as("viewer").get("/descheduling/").status_code == 200


def test_the_page_tells_who_goes_where_they_land_and_who_fights(
    client_as: Callable[..., Any], demo: Snapshot, spare: str
) -> None:
    client = client_as("viewer")
    page = get_page(client, descheduler="spare@1", rounds=3)
    dry_run = page.context["answer"]
    assert dry_run["evicted"] == len(dry_run["landings"]) > 0
    assert sum(dry_run["counts"].values()) == dry_run["evicted"]
    assert dry_run["answer"].startswith(f"The descheduler would evict {dry_run['evicted']:,} pods: ")
    assert dry_run["answer"] in html_of(page)
    assert len(elements(page, "tr[data-fate]")) == min(dry_run["evicted"], 50)
    assert {fight["plugin"] for fight in dry_run["fights"]} == {"HighNodeUtilization"}
    assert "TaintToleration" in {fight["scorer"] for fight in dry_run["fights"]}
    assert elements(page, "[data-fight]")
    assert ("Nodes in use", "nodes") in [(measure_name, unit) for measure_name, unit, *_ in page.context["gains"]]
    plugin_page = get_page(client, descheduler="spare@1", rounds=3, plugin="HighNodeUtilization")
    assert plugin_page.context["page"].paginator.count == dry_run["evicted"]


def test_money_is_a_gain(client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
    def gains() -> dict[str, tuple[str, float, float]]:
        shown_gains = get_page(client_as("viewer"), descheduler="spare@1", rounds=1).context["gains"]
        return {measure_name: (unit, before, after) for measure_name, unit, before, after, _ in shown_gains}

    _, before, after = gains()["Nodes in use"]
    assert gains()["Node-hours a day"] == ("node-hours a day", 24 * before, 24 * after)
    for version, price in enumerate((0.5, 1)):
        prices_save(user=None, cluster=demo.cluster, text=PRICES % price, expected=version)
        answer = api_as("viewer").post(API, {"cluster": "demo", "descheduler": "spare", "rounds": 1}).json()
        assert answer["currency"] == "EUR"
        before = answer["before"]
        assert before["cost"] == price * (before["nodes"] - before["unpriced"])
        assert 0 < before["unpriced"] < before["nodes"]
        shown_gains = gains()
        assert "Node-hours a day" not in shown_gains
        assert shown_gains["Cost of nodes in use at the end"] == (
            "EUR an hour",
            before["cost"],
            answer["after"]["cost"],
        )
        unpriced_counts = before["unpriced"], answer["after"]["unpriced"]
        assert shown_gains["Nodes in use without a price"] == ("nodes", *unpriced_counts)


def test_files_of_an_answer(client_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
    client, parameters = client_as("viewer"), {"descheduler": "spare@1", "rounds": 1}
    exported = json.loads(get_page(client, **parameters, format="json").content)
    lines = b"".join(get_page(client, **parameters, format="csv").streaming_content).decode().splitlines()
    assert lines[0] == "pod,workload,node,plugin,profile,fate,target,message"
    assert len(lines) == 1 + exported["evicted"]
    script = get_page(client, **parameters, format="kubectl").content.decode()
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=True).returncode == 0
    commands = [shlex.split(line) for line in script.splitlines() if line.startswith("echo")]
    assert len(commands) == exported["evicted"]
    for words, landing in zip(commands, exported["landings"], strict=True):
        body = json.loads(words[1])
        assert body["kind"] == "Eviction"
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        assert f"{namespace}/{name}" == landing["pod"]
        assert words[3:] == ["kubectl", "create", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction",
                             "-f", "-"]  # fmt: skip


def test_a_slow_question_is_answered_by_a_job(
    client_as: Callable[..., Any], demo: Snapshot, spare: str, slow: None
) -> None:
    client = client_as("viewer")
    form = {"descheduler": "spare@1", "rounds": "2"}
    assert get_page(client, **form).context["later"]
    submission = client.post("/descheduling/?cluster=demo", form)
    question = Question.objects.get()
    assert submission.url == f"/descheduling/dry-runs/{question.pk}/"
    waits = client.get(submission.url)
    assert (waits.status_code, waits.context["ended"]) == (200, False)
    rejection = client.post("/descheduling/?cluster=demo", {**form, "rounds": "3"})
    assert rejection.status_code == 409
    tasks.answer(str(question.job_id))
    page = client.get(submission.url)
    assert page.context["answer"]["evicted"] > 0
    assert len(page.context["answer"]["rounds"]) == 2
    question.refresh_from_db()
    assert (question.sentence, bool(question.engine)) == (page.context["answer"]["answer"], True)
    second_page = get_page(client, descheduler="spare@1", rounds=2)
    assert second_page.context["later"], "what a job found is its own answer"


def test_bad_input_is_told_beside_its_field(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page = get_page(client, descheduler="none@1")
    assert (page.status_code, "descheduler" in page.context["form"].errors) == (400, True)
    assert get_page(client, rounds=0, ask=1).status_code == 400
    missing = SPARE.replace("- name: HighNodeUtilization", "- name: DefaultEvictor\n        args: "
                            "{priorityThreshold: {name: gone}}\n      - name: HighNodeUtilization")  # fmt: skip
    policies.policy_create(name="classes", document=missing, author=None)
    page = get_page(client, descheduler="classes@1")
    assert page.status_code == 422
    assert 'priorityclasses.scheduling.k8s.io "gone" not found' in html_of(page).replace("&quot;", '"')


class TestMovesOverRest:
    def test_the_answer_is_that_of_the_page(
        self, api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        body = {"cluster": "demo", "descheduler": "spare", "rounds": 2, "minutes": 10}
        response = api_as("viewer").post(API, body, format="json")
        assert response.status_code == 200
        page = get_page(client_as("viewer"), descheduler="spare@1", rounds=2, minutes=10)
        assert {name: response.data[name] for name in page.context["answer"]} == page.context["answer"]
        assert (response.data["policy"], response.data["descheduler"]) == ("default", "spare, revision 1")

    def test_a_document_that_is_not_saved(self, api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
        api = api_as("viewer")
        response = api.post(API, {"cluster": "demo", "document": SPARE, "rounds": 1}, format="json")
        assert response.data["evicted"] > 0
        old = SPARE.replace("v1alpha2", "v1alpha1")
        rejection = api.post(API, {"cluster": "demo", "document": old}, format="json")
        assert rejection.status_code == 400
        assert "line 1: descheduler/v1alpha1 is not read" in rejection.data["errors"][0]["message"]
        both_given = api.post(API, {"cluster": "demo", "document": SPARE, "descheduler": "spare"}, format="json")
        assert both_given.status_code == 400
        wrong = api.post(API, {"cluster": "demo", "descheduler": "default"}, format="json")
        assert wrong.status_code == 422

    def test_a_job_answers_what_takes_long(
        self, api_as: Callable[..., Any], demo: Snapshot, spare: str, slow: None
    ) -> None:
        api = api_as("viewer")
        response = api.post(API, {"cluster": "demo", "descheduler": "spare"}, format="json")
        assert response.status_code == 202
        assert api.get(response["Location"]).data["moves"] is None
        tasks.answer(str(Question.objects.get().job_id))
        answer = api.get(response["Location"]).data
        assert (answer["state"], answer["moves"]["evicted"] > 0) == ("succeeded", True)


def try_addresses(page: Any) -> list[str]:
    """The addresses of the forms that try what is shown in a scenario."""
    return [element["action"] for element in elements(page, "form[action]") if "/try/" in element["action"]]


class TestTryingMoves:
    def test_the_page_makes_a_scenario_with_the_descheduler_and_runs_it(
        self, client_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        client = client_as("editor")
        page = get_page(client, ask="1", descheduler=f"{spare}@1", rounds=3, minutes=7)
        [address] = try_addresses(page)
        submission = client.post(address, page.context["form_values"])
        run = Run.objects.get(pk=submission.url.split("/")[2])
        document = run.revision.document
        assert document["base"] == {"snapshot": str(demo.pk)}
        assert (document["descheduler"]["every"], document["descheduler"]["name"]) == (420, "spare, revision 1")
        assert document["run"] == {"place": "pending", "until": 3 * 420 + 60}
        seed_runs.work_off()
        run.refresh_from_db()
        evicted_count = next(measure["value"] for measure in run.summary if measure["name"] == "evictions_descheduler")
        assert evicted_count >= page.context["answer"]["evicted"] > 0
        assert len(load_outcome(run).rounds) == 3

    def test_what_a_job_answered_is_tried_too(self, client_as: Callable[..., Any], demo: Snapshot, admin: User) -> None:
        question = seed_descheduling.question(admin, str(demo.pk))
        submission = client_as("editor").post(f"/descheduling/dry-runs/{question}/try/")
        assert Run.objects.get(pk=submission.url.split("/")[2]).revision.document["descheduler"]["every"] == 300

    def test_over_rest(self, api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
        body = {"cluster": "demo", "policy": "default", "document": SPARE, "minutes": 10}
        response = api_as("editor").post(f"{API}try/", body, format="json")
        assert response.status_code == 202
        run = Run.objects.get(pk=response.json()["run"])
        assert str(run.revision.scenario_id) == response.json()["scenario"]
        assert run.revision.document["descheduler"]["every"] == 600

    def test_a_viewer_may_not(
        self, client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        assert client_as("viewer").post("/descheduling/try/?cluster=demo", {"ask": "1"}).status_code == 403
        body = {"cluster": "demo", "policy": "default"}
        assert api_as("viewer").post(f"{API}try/", body, format="json").status_code == 403
        assert not try_addresses(get_page(client_as("viewer"), ask="1", descheduler=f"{spare}@1"))
