"""The pages of runs and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.scenarios.ready import all_ready
from kschedweb.playground.scenarios.ready_install import ready_place
from kschedweb.policies.services import policy_create
from tests.support import seed_runs
from tests.support.html import elements, html_of
from tests.support.seed import pod

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]


def text(answer: Any) -> str:
    assert answer.status_code == 200
    return html_of(answer)


def test_an_editor_compares_policies_and_the_page_says_how_far_it_is(client_as: Clients, editor: User) -> None:
    revision = seed_runs.scenario(editor, drawn=True)
    client = client_as("editor")
    form = {"scenario": str(revision.pk), "reference": "default@1", "policies": [f"{seed_runs.packed(editor)}@1"]}
    answer = client.post("/comparisons/new/", {**form, "seeds": "1 2"})
    comparison = Comparison.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/comparisons/{comparison.pk}/")
    waiting = client.get(f"/comparisons/{comparison.pk}/")
    assert (waiting.context["comparison"].ended, waiting.context["comparison"].total) == (0, 4)
    assert elements(waiting, "#progress[hx-trigger] [data-announce=0 of 4 runs are done]")
    seed_runs.work_off()
    part = client.get(f"/comparisons/{comparison.pk}/", HTTP_HX_REQUEST="true", HTTP_HX_TARGET="progress")
    assert part["HX-Refresh"] == "true"
    finished_page = client.get(f"/comparisons/{comparison.pk}/")
    assert finished_page.context["sentence"].startswith("packed@1 against default@1: ")
    assert finished_page.context["sentence"].endswith(f" of {finished_page.context['moved'].pods} pods go elsewhere")
    assert finished_page.context["ended"]
    assert not elements(finished_page, "#progress")
    assert "NodeResourcesFit" in text(finished_page)
    assert elements(finished_page, "[data-figure=strip-spread_cpu-figure]")
    assert not elements(finished_page, "[data-figure=strip-unscheduled-figure]")
    assert "unscheduled" in [line.measure.name for line in finished_page.context["same"]]
    assert "2 seeds it cannot fall below 0.5" in finished_page.context["seeds_said"]


WEIGHS_USE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {score: {enabled: [{name: HheWaterLevelBalance, weight: 5}]}}
"""


def test_a_policy_that_weighs_use_is_told_where_the_scenario_has_none(client_as: Clients, editor: User) -> None:
    policy_create(name="level", document=WEIGHS_USE, author=editor)
    ready_place(keys={"spread-one-constraint", "watermarks-of-the-article"})
    sentence = "level@1 weighs real use; this scenario has none"
    for key, said in (("spread-one-constraint", True), ("watermarks-of-the-article", False)):
        revision = next(ready for ready in all_ready() if ready.key == key).id
        comparison = services.comparison_start(
            user=editor,
            revision=ScenarioRevision.objects.get(scenario=revision),
            policies=["default", "level"],
            seeds=[1],
        )
        page = client_as("editor").get(f"/comparisons/{comparison.pk}/")
        assert page.context["blind"] == ([1] if said else []), "its nodes are annotated with their use"
        assert (sentence in text(page)) == said


def test_a_new_comparison_is_with_the_default_policy(client_as: Clients, editor: User) -> None:
    seed_runs.scenario(editor)
    policy_create(name="aaa", document=seed_runs.PACKED, author=editor)
    page = client_as("editor").get("/comparisons/new/")
    assert elements(page, "#id_reference option[value=default@1][selected]")
    assert not elements(page, "#id_reference option[value=aaa@1][selected]")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": "one"}, "Enter whole numbers, 0 or more"),
        ({"seeds": "1 2 3 4 5 6 7 8 9 10 11"}, "Enter from 1 to 10 whole numbers"),
        ({"policies": []}, "Choose a policy to compare with the reference"),
        ({"policies": ["default@1"]}, "Choose from 2 to 8 different policies"),
        ({"scenario": "0"}, "Select a valid choice"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Clients, editor: User, changes: dict[str, Any], message: str
) -> None:
    revision = seed_runs.scenario(editor)
    policies = [f"{seed_runs.packed(editor)}@1"]
    form = {"scenario": str(revision.pk), "reference": "default@1", "policies": policies, "seeds": "1"}
    answer = client_as("editor").post("/comparisons/new/", {**form, **changes})
    assert answer.status_code == 400
    [field] = changes
    assert message in " ".join(answer.context["form"].errors[field])
    assert elements(answer, ".field-error")
    assert not Comparison.objects.exists()


def test_a_run_shows_its_time_and_follows_the_address(client_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor)
    client = client_as("viewer")
    end = client.get(f"/runs/{run.pk}/")
    sentence = "All 21 pods find a node under default@1, half of them within 11 ms; 2 had to leave it again"
    assert end.context["sentence"].startswith(sentence)
    assert [element.text for element in elements(end, "h1")] == [end.context["sentence"]]
    assert end.context["at"] == end.context["end"] > 0
    begin = client.get(f"/runs/{run.pk}/?at=0")
    assert not elements(begin, ".as-of"), "the time of a run is no moment of a cluster"
    assert (begin.context["at"], begin.context["end"]) == (0, end.context["end"])
    assert "After 0 s, CPU of 6 nodes: 0 % requested on average" in text(begin)
    assert "preempted by default/important" in [message.text for message in begin.context["forced"]]


def test_pods_are_filtered_by_state_name_and_node_and_downloaded(client_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor)
    client = client_as("viewer")
    address = f"/runs/{run.pk}/?format=json"
    pods = client.get(address).json()["items"]
    assert len(pods) == 21
    preempted_pods = [pod["pod"] for pod in client.get(f"{address}&state=preempted").json()["items"]]
    outcome = selectors.load_outcome(run)
    important = next(pod for pod in pods if pod["pod"] == "default/important")
    assert preempted_pods
    assert all(outcome.nodes[outcome.node[outcome.index[pod]]] == important["node"] for pod in preempted_pods)
    assert [pod["pod"] for pod in client.get(f"{address}&search=web-07").json()["items"]] == ["default/web-07"]
    on = client.get(f"{address}&node={important['node']}").json()["items"]
    assert {pod["node"] for pod in on} == {important["node"]}
    early = client.get(f"{address}&at=0.005&state=waiting").json()["count"]
    assert early == 15  # a try takes a millisecond, so five pods are placed
    csv = b"".join(client.get(f"/runs/{run.pk}/?format=csv&of=moves").streaming_content).decode().splitlines()
    assert csv[0] == "time,pod,node,kind,text"
    assert len(csv) == 1 + len(outcome.moves)


def test_a_decision_is_worked_out_anew_and_is_what_the_run_decided(client_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor)
    outcome = selectors.load_outcome(run)
    client = client_as("viewer")
    for name in ("web-00", "web-13"):
        page = text(client.get(f"/runs/{run.pk}/pods/default/{name}/"))
        node = outcome.nodes[outcome.node[outcome.index[f"default/{name}"]]]
        assert f"{name} goes to {node}" in page or f"The run chose <strong>{node}</strong>" in page
    attempt_count = outcome.attempts[outcome.index["default/important"]]
    assert attempt_count > 1
    first = client.get(f"/runs/{run.pk}/pods/default/important/?attempt=1")
    assert (first.context["placement"]["attempt"], first.context["placement"]["attempts"]) == (1, attempt_count)
    assert "Insufficient cpu" in first.context["answer"].quote
    assert client.get(f"/runs/{run.pk}/pods/default/none/").status_code == 404


def test_one_who_may_not_read_the_scenario_finds_nothing(client_as: Clients, editor: User) -> None:
    revision = seed_runs.scenario(editor, shared=False)
    comparison = seed_runs.comparison(editor, revision=revision)
    run = Run.objects.filter(position=0).get()
    viewer = client_as("viewer")
    for address in (f"/runs/{run.pk}/", f"/api/v1/runs/{run.pk}/map/", f"/comparisons/{comparison.pk}/"):
        assert viewer.get(address).status_code == 404
    assert str(comparison.pk) not in text(viewer.get("/comparisons/"))
    share = f"form[action=/comparisons/{comparison.pk}/share/]"
    assert elements(client_as("editor").get(f"/comparisons/{comparison.pk}/"), share)


def test_only_who_started_a_comparison_changes_it(client_as: Clients, admin: User, editor: User) -> None:
    comparison = seed_runs.comparison(admin)
    for command in ("rename", "cancel", "delete"):
        assert client_as("editor").post(f"/comparisons/{comparison.pk}/{command}/", {"title": "x"}).status_code == 403
    client_as("admin").post(f"/comparisons/{comparison.pk}/rename/", {"title": "Packed or spread?"})
    assert Comparison.objects.get().title == "Packed or spread?"
    assert client_as("admin").post(f"/comparisons/{comparison.pk}/delete/").status_code == 302
    assert not Comparison.objects.exists()


def test_moved_pods_are_grouped_and_filtered_by_plugin(client_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    address = f"/comparisons/{comparison.pk}/?format=json&of=moved"
    client = client_as("viewer")
    rows = client.get(address).json()["items"]
    by_plugin = [row for row in rows if row["plugin"] == "NodeResourcesFit" and row["what"] == "moved"]
    assert by_plugin
    assert all(row["lead"] > 0 for row in by_plugin if row["lead"] is not None)
    filtered_rows = client.get(f"{address}&plugin=NodeResourcesFit&what=moved").json()["items"]
    assert filtered_rows == by_plugin


def test_a_run_shows_how_its_workloads_were_scaled(client_as: Clients, api_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor, seed_runs.elastic(editor))
    page = client_as("editor").get(f"/runs/{run.pk}/")
    rows = [(row.time, row.before, row.after) for row in page.context["sections"][0]["rows"]]
    assert rows == [(600.0, 2, 4), (615.0, 4, 8), (2100.0, 8, 2)]
    assert "default/Deployment/web" in text(page)
    assert elements(page, "[data-figure=scaling-figure]")
    assert {"replicas_mean", "scalings", "above_target"} <= {
        measure.name for group, _ in page.context["measured"] for measure in group.leading
    }
    export = client_as("editor").get(f"/runs/{run.pk}/?format=csv&of=scalings")
    lines = (
        b"".join(export.streaming_content).decode().splitlines() if export.streaming else html_of(export).splitlines()
    )
    assert lines[1].startswith("600.0,default/Deployment/web,2,4,cpu resource utilization")
    rest_rows = api_as("viewer").get(f"/api/v1/runs/{run.pk}/scalings/").json()["results"]
    assert [(row["time"], row["before"], row["after"]) for row in rest_rows] == rows


def test_a_run_shows_its_quota_queues(client_as: Clients, api_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor, seed_runs.queued(editor))
    page = client_as("editor").get(f"/runs/{run.pk}/")
    waits, quotas = page.context["sections"]
    assert [(row.queue, row.jobs, row.p99, row.evictions, row.unplaced) for row in waits["rows"]] == [
        ("a", 1, 0.0, 1, 0),
        ("b", 2, 30.0, 0, 1),
    ]
    assert [(row.queue, row.nominal, row.most_used) for row in quotas["rows"]] == [("a", 4000, 6000), ("b", 4000, 8000)]
    # A picture comes first; the families have charts of their own.
    for name in ("queued-jobs", "queue_wait", "queue_evictions", "quota"):
        assert elements(page, f"[data-figure={name}-figure]"), name
    assert "default/job-large have quota, and not all of their pods have a node" in text(page)
    for table, line in (("queue-waits", "a,0,1,0.0,0.0,0,0,1"), ("quotas", "a,team,f,cpu,4000,")):
        export = client_as("editor").get(f"/runs/{run.pk}/?format=csv&of={table}")
        content = b"".join(export.streaming_content) if export.streaming else export.content
        assert content.decode().splitlines()[1].startswith(line)
    client = api_as("viewer")
    answer = client.get(f"/api/v1/runs/{run.pk}/queues/").json()
    assert answer["evictions"] == {"InCohortReclamation": 1}
    assert [row["queue"] for row in answer["waits"]] == ["a", "b"]
    jobs = client.get(f"/api/v1/runs/{run.pk}/jobs/").json()["results"]
    assert (jobs[0]["job"], jobs[0]["evictions"]) == ("default/job-borrower", 1)


def test_a_run_names_jobs_that_evict_each_other_without_end(client_as: Clients, api_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor, seed_runs.queued(editor, loops=True))
    (loop,) = api_as("viewer").get(f"/api/v1/runs/{run.pk}/queues/").json()["loops"]
    assert (loop["count"], loop["first_seconds"] < loop["last_seconds"]) == (14, True)
    assert loop["evictions"] == [
        {
            "preemptor": "default/job-big",
            "victim": "default/job-small",
            "reason": "InCohortReclaimWhileBorrowing",
            "count": 14,
        }
    ]
    assert loop["sentence"] in text(client_as("editor").get(f"/runs/{run.pk}/"))


def test_a_run_without_scaled_workloads_says_nothing_of_them(client_as: Clients, editor: User) -> None:
    page = client_as("editor").get(f"/runs/{seed_runs.run(editor).pk}/")
    assert not elements(page, "#scalings-title")


def test_a_run_tells_of_pods_that_failed_were_collected_or_are_unknown(client_as: Clients, editor: User) -> None:
    manifests = [pod("named", cpu="9"), pod("lost", cpu="1")]
    for manifest, node in zip(manifests, ("node-0", "gone"), strict=True):
        manifest["spec"]["nodeName"] = node
    silent = {"nodes": ["node-1"], "conditions": {"Ready": "Unknown"}}
    changes: list[Any] = [{"at": "1m", "addWorkload": {"manifest": manifest}} for manifest in manifests]
    changes.append({"at": "2m", "setConditions": silent})
    run = seed_runs.run(editor, seed_runs.scenario(editor, changes=changes))
    client = client_as("viewer")
    page = client.get(f"/runs/{run.pk}/")
    assert page.context["sentence"].endswith("; 3 had to leave it again; 2 that name their node do not run there")
    assert dict((name, count) for name, _, count in page.context["states"]) == {
        "running": 17,
        "unknown": 3,
        "failed": 1,
        "collected": 1,
    }
    assert [move.kind for move in page.context["forced"]] == ["failed", "collected", "evicted", "evicted", "evicted"]
    moves = client.get(f"/runs/{run.pk}/?format=json&of=moves").json()["items"]
    assert [move["kind"] for move in moves if move["kind"] != "bound"] == ["failed", *["terminating"] * 3]
    api = client.get(f"/api/v1/runs/{run.pk}/pods/?state=unknown").json()
    assert {row["node"] for row in api["results"]} == {"node-1"}
    assert client.get(f"/api/v1/runs/{run.pk}/moves/?forced=true").json()["results"][1]["kind"] == "collected"
