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


def ask(client: Any, **asked: object) -> Any:
    return client.get(f"/descheduling/?{urlencode({'cluster': 'demo', **asked})}")


def test_a_page_without_a_question_shows_its_form(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = ask(client_as("viewer"))
    assert page.status_code == 200
    assert "found" not in page.context
    assert elements(page, "form.capacity-form")


def test_without_a_cluster_nothing_can_be_asked(client_as: Callable[..., Any], no_cluster: None) -> None:
    assert client_as("viewer").get("/descheduling/").status_code == 200


def test_the_page_tells_who_goes_where_they_land_and_who_fights(
    client_as: Callable[..., Any], demo: Snapshot, spare: str
) -> None:
    client = client_as("viewer")
    page = ask(client, descheduler="spare@1", rounds=3)
    found = page.context["answer"]
    assert found["evicted"] == len(found["landings"]) > 0
    assert sum(found["counts"].values()) == found["evicted"]
    assert found["answer"].startswith(f"The descheduler would evict {found['evicted']:,} pods: ")
    assert found["answer"] in html_of(page)
    assert len(elements(page, "tr[data-fate]")) == min(found["evicted"], 50)
    assert {fight["plugin"] for fight in found["fights"]} == {"HighNodeUtilization"}
    assert "TaintToleration" in {fight["scorer"] for fight in found["fights"]}
    assert elements(page, "[data-fight]")
    assert ("Nodes in use", "nodes") in [(what, unit) for what, unit, *_ in page.context["gains"]]
    one = ask(client, descheduler="spare@1", rounds=3, plugin="HighNodeUtilization")
    assert one.context["page"].paginator.count == found["evicted"]


def test_money_is_a_gain(client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
    def gains() -> dict[str, tuple[str, float, float]]:
        told = ask(client_as("viewer"), descheduler="spare@1", rounds=1).context["gains"]
        return {what: (unit, before, after) for what, unit, before, after, _ in told}

    _, before, after = gains()["Nodes in use"]
    assert gains()["Node-hours a day"] == ("node-hours a day", 24 * before, 24 * after)
    for version, price in enumerate((0.5, 1)):
        prices_save(user=None, cluster=demo.cluster, text=PRICES % price, expected=version)
        found = api_as("viewer").post(API, {"cluster": "demo", "descheduler": "spare", "rounds": 1}).json()
        assert found["currency"] == "EUR"
        before = found["before"]
        assert before["cost"] == price * (before["nodes"] - before["unpriced"])
        assert 0 < before["unpriced"] < before["nodes"]
        told = gains()
        assert "Node-hours a day" not in told
        assert told["Cost of nodes in use at the end"] == ("EUR an hour", before["cost"], found["after"]["cost"])
        unpriced = before["unpriced"], found["after"]["unpriced"]
        assert told["Nodes in use without a price"] == ("nodes", *unpriced)


def test_files_of_an_answer(client_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
    client, asked = client_as("viewer"), {"descheduler": "spare@1", "rounds": 1}
    found = json.loads(ask(client, **asked, format="json").content)
    lines = b"".join(ask(client, **asked, format="csv").streaming_content).decode().splitlines()
    assert lines[0] == "pod,workload,node,plugin,profile,fate,target,message"
    assert len(lines) == 1 + found["evicted"]
    script = ask(client, **asked, format="kubectl").content.decode()
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=True).returncode == 0
    commands = [shlex.split(line) for line in script.splitlines() if line.startswith("echo")]
    assert len(commands) == found["evicted"]
    for words, landing in zip(commands, found["landings"], strict=True):
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
    asked = {"descheduler": "spare@1", "rounds": "2"}
    assert ask(client, **asked).context["later"]
    sent = client.post("/descheduling/?cluster=demo", asked)
    question = Question.objects.get()
    assert sent.url == f"/descheduling/dry-runs/{question.pk}/"
    waits = client.get(sent.url)
    assert (waits.status_code, waits.context["ended"]) == (200, False)
    refused = client.post("/descheduling/?cluster=demo", {**asked, "rounds": "3"})
    assert refused.status_code == 409
    tasks.answer(str(question.job_id))
    page = client.get(sent.url)
    assert page.context["answer"]["evicted"] > 0
    assert len(page.context["answer"]["rounds"]) == 2
    question.refresh_from_db()
    assert (question.sentence, bool(question.engine)) == (page.context["answer"]["answer"], True)
    again = ask(client, descheduler="spare@1", rounds=2)
    assert again.context["later"], "what a job found is its own answer"


def test_bad_input_is_told_beside_its_field(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page = ask(client, descheduler="none@1")
    assert (page.status_code, "descheduler" in page.context["form"].errors) == (400, True)
    assert ask(client, rounds=0, ask=1).status_code == 400
    missing = SPARE.replace("- name: HighNodeUtilization", "- name: DefaultEvictor\n        args: "
                            "{priorityThreshold: {name: gone}}\n      - name: HighNodeUtilization")  # fmt: skip
    policies.policy_create(name="classes", document=missing, author=None)
    page = ask(client, descheduler="classes@1")
    assert page.status_code == 422
    assert 'priorityclasses.scheduling.k8s.io "gone" not found' in html_of(page).replace("&quot;", '"')


class TestRest:
    def test_the_answer_is_that_of_the_page(
        self, api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        asked = {"cluster": "demo", "descheduler": "spare", "rounds": 2, "minutes": 10}
        told = api_as("viewer").post(API, asked, format="json")
        assert told.status_code == 200
        page = ask(client_as("viewer"), descheduler="spare@1", rounds=2, minutes=10)
        assert {name: told.data[name] for name in page.context["answer"]} == page.context["answer"]
        assert (told.data["policy"], told.data["descheduler"]) == ("default", "spare, revision 1")

    def test_a_document_that_is_not_saved(self, api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
        api = api_as("viewer")
        told = api.post(API, {"cluster": "demo", "document": SPARE, "rounds": 1}, format="json")
        assert told.data["evicted"] > 0
        old = SPARE.replace("v1alpha2", "v1alpha1")
        refused = api.post(API, {"cluster": "demo", "document": old}, format="json")
        assert refused.status_code == 400
        assert "line 1: descheduler/v1alpha1 is not read" in refused.data["errors"][0]["message"]
        both = api.post(API, {"cluster": "demo", "document": SPARE, "descheduler": "spare"}, format="json")
        assert both.status_code == 400
        wrong = api.post(API, {"cluster": "demo", "descheduler": "default"}, format="json")
        assert wrong.status_code == 422

    def test_a_job_answers_what_takes_long(
        self, api_as: Callable[..., Any], demo: Snapshot, spare: str, slow: None
    ) -> None:
        api = api_as("viewer")
        told = api.post(API, {"cluster": "demo", "descheduler": "spare"}, format="json")
        assert told.status_code == 202
        assert api.get(told["Location"]).data["moves"] is None
        tasks.answer(str(Question.objects.get().job_id))
        answered = api.get(told["Location"]).data
        assert (answered["state"], answered["moves"]["evicted"] > 0) == ("succeeded", True)


def trying(page: Any) -> list[str]:
    """The addresses of the forms that try what is shown in a scenario."""
    return [element["action"] for element in elements(page, "form[action]") if "/try/" in element["action"]]


class TestTrying:
    def test_the_page_makes_a_scenario_with_the_descheduler_and_runs_it(
        self, client_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        client = client_as("editor")
        page = ask(client, ask="1", descheduler=f"{spare}@1", rounds=3, minutes=7)
        [address] = trying(page)
        sent = client.post(address, page.context["form_values"])
        run = Run.objects.get(pk=sent.url.split("/")[2])
        document = run.revision.document
        assert document["base"] == {"snapshot": str(demo.pk)}
        assert (document["descheduler"]["every"], document["descheduler"]["name"]) == (420, "spare, revision 1")
        assert document["run"] == {"place": "pending", "until": 3 * 420 + 60}
        seed_runs.work_off()
        run.refresh_from_db()
        evicted = next(measure["value"] for measure in run.summary if measure["name"] == "evictions_descheduler")
        assert evicted >= page.context["answer"]["evicted"] > 0
        assert len(load_outcome(run).rounds) == 3

    def test_what_a_job_answered_is_tried_too(self, client_as: Callable[..., Any], demo: Snapshot, admin: User) -> None:
        question = seed_descheduling.question(admin, str(demo.pk))
        sent = client_as("editor").post(f"/descheduling/dry-runs/{question}/try/")
        assert Run.objects.get(pk=sent.url.split("/")[2]).revision.document["descheduler"]["every"] == 300

    def test_over_rest(self, api_as: Callable[..., Any], demo: Snapshot, spare: str) -> None:
        asked = {"cluster": "demo", "policy": "default", "document": SPARE, "minutes": 10}
        told = api_as("editor").post(f"{API}try/", asked, format="json")
        assert told.status_code == 202
        run = Run.objects.get(pk=told.json()["run"])
        assert str(run.revision.scenario_id) == told.json()["scenario"]
        assert run.revision.document["descheduler"]["every"] == 600

    def test_a_viewer_may_not(
        self, client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot, spare: str
    ) -> None:
        assert client_as("viewer").post("/descheduling/try/?cluster=demo", {"ask": "1"}).status_code == 403
        asked = {"cluster": "demo", "policy": "default"}
        assert api_as("viewer").post(f"{API}try/", asked, format="json").status_code == 403
        assert not trying(ask(client_as("viewer"), ask="1", descheduler=f"{spare}@1"))
