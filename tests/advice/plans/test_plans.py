"""Plans on the page and over REST: shown, exported, tried in a scenario, offered on Overview, and refused in words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.plans import offers, scenario_trials, selectors, services, tasks
from kschedweb.advice.plans.models import Question
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.clusters.prices.models import PriceSheet
from kschedweb.clusters.prices.services import prices_save
from kschedweb.clusters.services import demo_load
from kschedweb.engine.releases import get_release
from kschedweb.jobs.models import Job
from kschedweb.playground.runs import selectors as runs_of
from kschedweb.playground.runs import tasks as runs
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.policies.models import Revision
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db

API = "/api/v1/plans/"
PRICES = """\
apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
- labels: {kubernetes.io/os: linux}
  price: 0.5
"""


def submit(client: Any, **fields: object) -> Any:
    return client.post("/plans/?cluster=demo", {"objective": "nodes", "at_least": "5", **fields})


def get_plan(client: Any, **fields: object) -> tuple[Any, dict[str, Any]]:
    """The page of a plan, and the plan."""
    submission = submit(client, **fields)
    assert submission.status_code == 302, submission.context["form"].errors
    page = client.get(submission.url)
    return page, page.context["answer"]


def test_the_form_keeps_what_an_address_says(client_as: Callable[..., Any], demo: Snapshot, no_cluster: None) -> None:
    assert client_as("viewer").get("/plans/").status_code == 200


def test_the_page_opens_with_the_plan_that_the_site_made(
    client_as: Callable[..., Any], demo: Snapshot, policy: Any
) -> None:
    client = client_as("viewer")
    assert "answer" not in client.get("/plans/?cluster=demo").context, "the first visit has a job look for it"
    question = Question.objects.get(offers=True)
    tasks.offer(str(question.job_id))
    page = client.get("/plans/?cluster=demo")
    assert page.context["sentence"] == client.get(f"/plans/{question.pk}/").context["sentence"]
    assert f'href="/plans/{question.pk}/"' in html_of(page)
    assert "answer" not in client.get("/plans/?cluster=demo&objective=skew").context, "another objective is asked for"


def test_where_nothing_has_to_move_no_bound_is_told(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page, plan = get_plan(client_as("viewer"), at_least="1")
    assert (plan["moves"], plan["least"]) == (0, "")
    assert "data-bound" not in html_of(page)


def test_a_plan_is_told_with_its_bound_and_what_it_changes(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page, plan = get_plan(client_as("viewer"))
    assert (plan["reached"], plan["after"] >= 5) == (True, True)
    assert plan["moves"] >= plan["bound"]["moves"] > 0
    assert plan["least"] in html_of(page)
    assert f"this plan has {plan['moves']:,}" in plan["least"]
    gains = {measure_name: (before, after) for measure_name, _, before, after, _ in page.context["gains"]}
    before, after = gains["Nodes in use"]
    assert before - after == plan["after"] - plan["before"]
    assert "Node-hours a day" not in gains, "nodes go"
    assert len(elements(page, "tr[data-wave]")) == min(plan["moves"], 100)


def test_files_of_a_plan(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page, plan = get_plan(client)
    address = page.wsgi_request.path
    assert json.loads(client.get(f"{address}?format=json").content) == plan
    evictions = json.loads(client.get(f"{address}?format=evictions").content)
    assert [eviction["kind"] for eviction in evictions] == ["Eviction"] * plan["moves"]
    lines = b"".join(client.get(f"{address}?format=csv").streaming_content).decode().splitlines()
    assert lines[0] == "wave,pod,from,to,reason,gain,budget"
    assert len(lines) == 1 + plan["moves"]
    script = client.get(f"{address}?format=kubectl").content.decode()
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=True).returncode == 0
    assert script.count("/eviction -f -") == plan["moves"]
    assert client.get(f"{address}?format=exe").status_code == 404


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"objective": "skew", "skew_at_most": "-1"}, "skew_at_most"),
        ({"objective": "skew", "skew_at_most": ""}, "skew_at_most"),
        ({"objective": "money"}, "objective"),
        ({"objective": "nodes", "at_least": "0"}, "at_least"),
        ({"objective": "nodes", "price": "-2"}, "price"),
        ({"objective": "nodes", "most_moves": "-2"}, "most_moves"),
        ({"objective": "nodes", "price": "many"}, "price"),
        ({"objective": "fragmentation", "device": "none.example.com/x", "size": "2"}, "objective"),
        ({"objective": "fragmentation", "device": "", "size": "2"}, "device"),
        ({"objective": "peace"}, "objective"),
    ],
    ids=str,
)
def test_bad_input_is_told_beside_its_field(
    client_as: Callable[..., Any], demo: Snapshot, fields: dict[str, str], field: str
) -> None:
    page = submit(client_as("viewer"), **fields)
    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert page.context["form"].data["objective"] == fields["objective"], "nothing is lost"
    assert not Question.objects.filter(offers=False).exists()


def test_a_slow_plan_is_worked_out_by_a_job(client_as: Callable[..., Any], demo: Snapshot, slow: None) -> None:
    client = client_as("viewer")
    submission = submit(client)
    question = Question.objects.get(offers=False)
    assert submission.url == f"/plans/{question.pk}/"
    assert client.get(submission.url).context["ended"] is False
    assert submit(client, at_least="6").status_code == 409
    tasks.answer(str(question.job_id))
    page = client.get(submission.url)
    assert page.context["answer"]["reached"]
    assert "objective=nodes&at_least=5" in page.context["form_address"]


class TestTryingPlans:
    @pytest.fixture
    def question(self, demo: Snapshot, editor: User, revision: Revision) -> Question:
        return services.question_ask(user=editor, snapshot=demo, revision=revision, objective={"nodes": {"atLeast": 5}})

    def test_a_run_of_the_scenario_lands_pods_where_the_plan_says(
        self, client_as: Callable[..., Any], question: Question, editor: User
    ) -> None:
        client = client_as("editor")
        assert client.post(f"/plans/{question.pk}/try/").url == f"/plans/{question.pk}/#tried"
        plan = question.read_answer()
        assert plan is not None
        ((scenario, (waiting,)),) = selectors.list_trials(editor, question, plan)
        assert (waiting.has_ended, scenario.name) == (False, "Plan for demo")
        runs.run(str(waiting.run.job_id))
        ((_, (landed_trial,)),) = selectors.list_trials(editor, question, plan)
        assert landed_trial.has_ended
        assert landed_trial.moves == plan["moves"]
        assert landed_trial.misplaced == ()
        page = client.get(f"/plans/{question.pk}/")
        assert elements(page, "[data-landed]"), html_of(page)[:20_000]
        assert f"all {plan['moves']} pods land where the plan says" in html_of(page)

    def test_it_is_run_by_the_release_that_planned(self, demo: Snapshot, editor: User, revision: Revision) -> None:
        Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.36.3")
        demo.cluster.refresh_from_db()
        objective = {"nodes": {"atLeast": 5}}
        question = services.question_ask(user=editor, snapshot=demo, revision=revision, objective=objective)
        run = scenario_trials.plan_try(question=question, user=editor)
        assert runs_of.load_configuration(run).release.engine == question.engine == get_release("1.36").engine

    def test_where_a_pod_lands_elsewhere_is_told(self, question: Question, editor: User) -> None:
        run = scenario_trials.plan_try(question=question, user=editor)
        runs.run(str(run.job_id))
        plan = question.read_answer()
        assert plan is not None
        move = plan["waves"][0][0]
        real, move["to"] = move["to"], "elsewhere"
        run.refresh_from_db()
        assert selectors.compare_with_plan(run, plan).misplaced == ((move["pod"], "elsewhere", real),)

    def test_viewers_make_no_scenario_and_an_empty_plan_none_either(
        self, client_as: Callable[..., Any], question: Question, editor: User
    ) -> None:
        assert client_as("viewer").post(f"/plans/{question.pk}/try/").status_code == 403
        assert question.snapshot is not None
        assert question.revision is not None
        idle = services.question_ask(
            user=editor, snapshot=question.snapshot, revision=question.revision, objective={"nodes": {}, "mostMoves": 0}
        )
        assert client_as("editor").post(f"/plans/{idle.pk}/try/").status_code == 302
        assert not Scenario.objects.exists()


def plan_page(client: Any, question: Question) -> Any:
    return client.get(f"/plans/{question.pk}/")


class TestOffer:
    def test_overview_says_which_nodes_could_go_once_a_job_found_it(
        self, client_as: Callable[..., Any], editor: User, policy: Any
    ) -> None:
        snapshot = demo_load(user=editor).snapshots.get()
        PriceSheet.objects.all().delete()
        client = client_as("viewer")
        assert not elements(client.get("/?cluster=demo"), "[data-plan]"), "never worked out in a request"
        question = Question.objects.get(offers=True)
        assert offers.offer_later(snapshot=snapshot) is None, "one at a time for a cluster"
        tasks.offer(str(question.job_id))
        question.refresh_from_db()
        assert question.asked == {"nodes": {}}
        assert question.offer is not None
        assert question.offer["saves"] == 24.0 * question.offer["nodes"]
        page = html_of(client.get("/?cluster=demo"))
        assert f"{question.offer['nodes']} nodes could go" in page
        assert "node-hours a day" in page
        gains = {
            measure_name: (before, after)
            for measure_name, _, before, after, _ in plan_page(client, question).context["gains"]
        }
        before, after = gains["Node-hours of the nodes that stay"]
        assert before - after == question.offer["saves"], "the plan saves what Overview says"
        assert f'href="/plans/{question.pk}/"' in page

    def test_with_prices_it_is_money(self, client_as: Callable[..., Any], demo: Snapshot, policy: Any) -> None:
        Question.objects.all().delete()
        prices_save(user=None, cluster=demo.cluster, text=PRICES, expected=0)
        assert offers.offer_later(snapshot=demo) is not None
        question = Question.objects.get()
        assert question.asked == {"money": {"hours": 24}}
        tasks.offer(str(question.job_id))
        question.refresh_from_db()
        assert question.offer is not None
        assert (question.offer["saves"] > 0, question.offer["unit"]) == (True, "EUR")
        assert "EUR a day" in html_of(client_as("viewer").get("/?cluster=demo"))
        gains = {measure_name: row for measure_name, *row in plan_page(client_as("viewer"), question).context["gains"]}
        unit, before, after, _ = gains["Cost of the nodes that stay"]
        assert (unit, 24 * (before - after)) == ("EUR an hour", pytest.approx(question.offer["saves"]))

    def test_other_prices_are_another_question(
        self, client_as: Callable[..., Any], demo: Snapshot, policy: Any
    ) -> None:
        Question.objects.all().delete()
        offers.offer_later(snapshot=demo)
        before = Question.objects.get()
        tasks.offer(str(before.job_id))
        assert selectors.offer_of(demo) == before
        prices_save(user=None, cluster=demo.cluster, text=PRICES, expected=0)
        assert not elements(client_as("viewer").get("/?cluster=demo"), "[data-plan]"), "it was without prices"
        priced_question = Question.objects.exclude(pk=before.pk).get()
        assert priced_question.asked == {"money": {"hours": 24}}
        tasks.offer(str(priced_question.job_id))
        assert selectors.offer_of(demo) == priced_question

    def test_nothing_is_said_where_no_node_could_go(self, demo: Snapshot, policy: Any) -> None:
        answer = {"freed": 0, "objective": "nodes"}
        assert services.offer_in(answer) is None
        assert selectors.offer_of(demo) is None


class TestPlansOverRest:
    def test_a_plan_and_its_trial(self, api_as: Callable[..., Any], demo: Snapshot) -> None:
        body = {"cluster": "demo", "objective": {"nodes": {"atLeast": 5}, "mostMoves": 50}}
        response = api_as("editor").post(API, body, format="json")
        assert response.status_code == 200
        assert response.data["plan"]["reached"]
        assert response.data["asked"] == body["objective"]
        trial = api_as("editor").post(f"{API}{response.data['id']}/try/", format="json")
        assert trial.status_code == 202
        assert str(Scenario.objects.get().pk) == str(trial.data["scenario"])

    def test_a_job_answers_what_takes_long(self, api_as: Callable[..., Any], demo: Snapshot, slow: None) -> None:
        api = api_as("viewer")
        response = api.post(API, {"cluster": "demo", "objective": {"nodes": {"atLeast": 5}}}, format="json")
        assert response.status_code == 202
        assert api.get(response["Location"]).data["plan"] is None
        tasks.answer(str(Job.objects.get(kind=services.KIND.task).pk))
        answer = api.get(response["Location"]).data
        assert (answer["state"], answer["plan"]["reached"]) == ("succeeded", True)

    @pytest.mark.parametrize(
        ("objective", "path"),
        [
            ({"skew": {"atMost": -1}}, "objective.skew.atMost"),
            ({"skew": {"atMost": 1}, "nodes": {}}, "objective"),
            ({}, "objective"),
            ("fewer", "objective"),
            ({"money": {}}, "objective.money"),
            ({"nodes": {}, "price": -1}, "objective.price"),
            ({"fragmentation": {"resource": "none.example.com/x", "size": 2}}, "objective.fragmentation"),
        ],
        ids=str,
    )
    def test_errors_name_their_place(
        self, api_as: Callable[..., Any], demo: Snapshot, objective: object, path: str
    ) -> None:
        rejection = api_as("viewer").post(API, {"cluster": "demo", "objective": objective}, format="json")
        assert rejection.status_code == 400
        assert rejection.data["errors"][0]["path"] == path
