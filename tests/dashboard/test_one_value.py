"""A measure has one value for a question: on every page, over REST, in files and on the command line."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.services import prices_save
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.registry import get_spec, specs_of
from kschedweb.fleet import summaries
from kschedweb.playground.scenarios.from_snapshot import scenario_on
from kschedweb.playground.trying import services as trying
from kschedweb.policies import services as policies
from kschedweb.watermarks.demo import demo_record
from kschedweb.watermarks.selectors import current_watermarks
from tests.conftest import person
from tests.decisions.conftest import _store as store
from tests.engine.builders import node, pod
from tests.engine.studies.gates import PACKED
from tests.support.seed_runs import work_off

Values = Mapping[str, float | None]
ZONE, OS = "topology.kubernetes.io/zone", "kubernetes.io/os"
SMALL = {"cpu": "500m", "memory": "1Gi"}
CLUSTER_QUERY = {"cluster": "small"}
DESCHEDULER = """\
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
- labels: {kubernetes.io/os: linux}
  price: 0.5
"""
MORE_PODS = {"kind": "Deployment", "metadata": {"name": "more"}, "spec": {"template": {"spec": {"containers": [
    {"name": "main", "image": "more", "resources": {"requests": SMALL}}]}}}}  # fmt: skip
GATE_SIDES = "baseline", "policy"  # sides of a gate
OF_TRYING = {"nodes_used", "node_hours_day"}
SIDES = {"current": "baseline", "changed": "policy"}  # of a tried change, as a gate calls them

pytestmark = pytest.mark.django_db


def small_cluster() -> list[Json]:
    """Six nodes, of which one is cordoned, one tainted and one without a price; pods on all, two that wait."""
    zones = [{ZONE: f"z{place % 2}", **({} if place == 3 else {OS: "linux"})} for place in range(6)]
    nodes = [
        *(node(f"node-{place}", labels=zones[place]) for place in range(4)),
        node("node-4", labels=zones[4], unschedulable=True),
        node("node-5", labels=zones[5], taints=[{"key": "batch", "effect": "NoSchedule"}]),
    ]
    names = [f"node-{place}" for place in (0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 4, 4, 5)]
    pods = [pod(f"web-{place}", on=name, labels={"app": "web"}, requests=SMALL) for place, name in enumerate(names)]
    agents = [pod(f"agent-{place}", on=f"node-{place}", labels={"app": "agent"}, requests=SMALL) for place in range(6)]
    for controller, kind, owned_pods in (("web", "ReplicaSet", pods), ("agent", "DaemonSet", agents)):
        for raw in owned_pods:
            owner = {"apiVersion": "apps/v1", "kind": kind, "name": controller, "uid": controller, "controller": True}
            raw["metadata"]["ownerReferences"] = [owner]
    waiting = [pod("huge", requests={"cpu": "64"}), pod("gated", requests=SMALL, schedulingGates=[{"name": "later"}])]
    all_objects = [*nodes, *pods, *agents, *waiting]
    for place, raw in enumerate(all_objects):
        raw["metadata"] |= {"creationTimestamp": f"2026-01-01T00:00:{place:02d}Z", "uid": f"uid-{place}"}
    return all_objects


@pytest.fixture(scope="module")
def snapshot(rows_of_module: Callable[[], AbstractContextManager[None]]) -> Snapshot:
    """A small cluster with prices and a day of use, stored once."""
    with rows_of_module():
        editor = person("editor")
        for name, document in (("spare", DESCHEDULER), ("packed", PACKED)):
            policies.policy_create(name=name, document=document, author=editor)
        snapshot: Snapshot = store(small_cluster(), "small")
        demo_record(cluster=snapshot.cluster, objects=small_cluster())
        prices_save(user=editor, cluster=snapshot.cluster, text=PRICES, expected=0)
        summaries.compute_summary(snapshot)
    return snapshot


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is answered at once, on a busy machine too."""
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)
    monkeypatch.setattr(trying, "SECONDS", 600.0)


@pytest.fixture
def command(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """``command("gate", …, text="")``: the answer of the engine's command line, in a folder with the site's files."""
    monkeypatch.chdir(tmp_path)
    dump = {"apiVersion": "v1", "kind": "List", "items": list(snapshot_objects(snapshot))}
    for name, text in (("packed.yaml", PACKED), ("prices.yaml", PRICES), ("cluster.json", json.dumps(dump))):
        Path(name).write_text(text)

    def run(*arguments: str, text: str = "") -> Any:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert main(list(arguments)) in (0, 1)
        return json.loads(capsys.readouterr().out)

    return run


def find_differing(values_by_place: Iterator[tuple[str, Values]]) -> dict[str, dict[str, float | None]]:
    """The measures with more than one value, by where they are told."""
    places: dict[str, dict[str, float | None]] = defaultdict(dict)
    for place, values in values_by_place:
        for name, value in values.items():
            places[name][place] = value
    alone = {name: by_place for name, by_place in places.items() if len(by_place) == 1}
    assert not alone, "a measure that is told once says nothing here"
    return {name: by_place for name, by_place in places.items() if not is_one(list(by_place.values()))}


def is_one(values: list[float | None]) -> bool:
    """Return whether the values are equal in the digits that all of them have."""
    return all(value == pytest.approx(values[0], abs=1e-6) for value in values)


# The cluster as it stands.


def name_gains(gains: list[tuple[str, str, float, float, Any]]) -> Values:
    """The measures of a table of gains before anything moves, by their names; they are those of one moment."""
    names = {spec.label: spec.name for spec in specs_of({"resource": (CPU, MEMORY)})}
    values = {names.get(label, label): before for label, _, before, *_ in gains}
    assert all(get_spec(name).is_standing for name in values if name in names.values())
    return values


def of_standing(summary: Mapping[str, Any]) -> Values:
    """The same of an answer over REST."""
    stems = {"requests": "skew", "use": "use_skew"}
    skews = {
        f"{stem}_{resource}_end": spread["skew"]
        for part, stem in stems.items()
        for resource, spread in summary[part].items()
    }
    return {**skews, "nodes_used": summary["nodes"], "cost_used_end": summary["cost"]}


def told_of_now(viewer: Any, api: Any) -> Iterator[tuple[str, Values]]:
    overview = viewer.get("/", CLUSTER_QUERY).context
    counts, (_, bill) = overview["counts"], overview["cost"]
    yield (
        "Overview",
        {
            "use_skew_cpu_end": overview["skew"],
            "cost": bill.hour,
            "idle": bill.idle_share,
            **{name: counts[name] for name in ("nodes", "pods")},
            "pending": counts["waiting"],
        },
    )
    yield (
        "Usage",
        {"use_skew_cpu_end": viewer.get("/usage/", {**CLUSTER_QUERY, "statistic": "1h"}).context["now"]["points"]},
    )
    (line,) = viewer.get("/fleet/").context["page"]
    yield "Fleet", {"use_skew_cpu_end": line.skew, "cost": line.hour, "nodes": line.nodes, "pods": line.pods}
    (line,) = api.get("/api/v1/fleet/").json()["clusters"]
    yield "REST: fleet", {"use_skew_cpu_end": line["skew_points"], "nodes": line["nodes"], "pending": line["pending"]}
    total = viewer.get("/costs/", CLUSTER_QUERY).context["bill"].total
    yield "Costs", {"cost": total.hour, "idle": total.idle_share, "nodes": total.count}
    total = api.get("/api/v1/clusters/small/cost/").json()["total"]
    yield "REST: costs", {"cost": total["hour"], "idle": total["idle_share"], "nodes": total["count"]}
    form = {"objective": "skew", "skew_at_most": "100", "resource": "cpu"}
    plan = viewer.get(viewer.post("/plans/?cluster=small", form).url).context
    yield "Plan moves", name_gains(plan["gains"])
    yield "Plan moves: objective", {"use_skew_cpu_end": plan["answer"]["before"]}
    body = {**CLUSTER_QUERY, "objective": {"skew": {"atMost": 100}}}
    answer = api.post("/api/v1/plans/", body).json()["plan"]
    yield "REST: plan", of_standing(answer["standing"]["before"])
    yield "REST: plan, objective", {"use_skew_cpu_end": answer["before"]}
    staying = answer["staying"]["before"]
    yield "REST: plan, nodes that stay", {"nodes": staying["nodes"], "cost": staying["cost"]}
    page = viewer.get("/descheduling/", {**CLUSTER_QUERY, "descheduler": "spare@1", "rounds": 1}).context
    yield "Moves", name_gains(page["gains"])
    answer = api.post("/api/v1/descheduling/", {**CLUSTER_QUERY, "descheduler": "spare", "rounds": 1}).json()
    yield "REST: moves", of_standing(answer["before"])


def planned_skew(snapshot: Snapshot, command: Callable[..., Any]) -> float:
    """The skew of CPU use that ``plan`` begins with."""
    marks = current_watermarks(snapshot.cluster, snapshot.taken_at.timestamp())
    assert marks is not None
    nodes = {name: {"cpu": {"1h": level}} for name, level in zip(marks.names, marks.column("cpu", "1h"), strict=True)}
    objects = [raw for raw in snapshot_objects(snapshot) if raw["kind"] != "Pod" or raw["spec"].get("nodeName")]
    request = {"objects": objects, "watermarks": {"nodes": nodes}, "objective": {"skew": {"atMost": 100}}}
    before: float = command("plan", text=json.dumps(request))["before"]
    return before


def test_the_cluster_as_it_stands(
    client_as: Callable[..., Any], api_as: Callable[..., Any], snapshot: Snapshot, command: Callable[..., Any]
) -> None:
    def all_values() -> Iterator[tuple[str, Values]]:
        yield from told_of_now(client_as("viewer"), api_as("viewer"))
        yield "command line: plan", {"use_skew_cpu_end": planned_skew(snapshot, command)}

    assert find_differing(all_values()) == {}
    points = api_as("viewer").get("/api/v1/clusters/small/watermarks/skew/?statistic=1h").json()["points"]
    newest = next(point["skew"] for point in reversed(points) if point["skew"] is not None)
    assert newest == round(client_as("viewer").get("/", CLUSTER_QUERY).context["skew"], 1), (
        "points of a chart have one digit"
    )


# The cluster placed anew under a policy and a baseline.


def of_sides(measures: list[dict[str, Any]], sides: Mapping[str, str]) -> Values:
    return {f"{side} {measure['name']}": measure[key] for measure in measures for key, side in sides.items()}


def told_of_placing(editor: Any, api: Any, command: Callable[..., Any]) -> Iterator[tuple[str, Values]]:
    gate = dict(zip(GATE_SIDES, GATE_SIDES, strict=True))
    form = {"policy": "packed@1", "on": "cluster:small", "place": "all", "newly": "any"}
    page = editor.get(editor.post("/gate/?cluster=small", form).url).context
    yield "gate: page", of_sides([*page["changed"], *page["same"]], gate)
    body: Json = {"policy": {"name": "packed"}, "snapshot": CLUSTER_QUERY}
    yield "gate: REST", of_sides(api.post("/api/v1/gate/", body).json()["measures"], gate)
    body = {"policy": {"name": "packed"}, "snapshot": {"objects": json.loads(Path("cluster.json").read_text())}}
    yield "gate: REST, objects", of_sides(api.post("/api/v1/gate/", body).json()["measures"], gate)
    options = "--policy", "packed.yaml", "--snapshot", "cluster.json", "--prices", "prices.yaml"
    yield "gate: command line", of_sides(command("gate", *options)["measures"], gate)
    body = {"policy": {"name": "default"}, "change": {"policy": {"name": "packed"}}, "snapshot": CLUSTER_QUERY}
    answer = api.post("/api/v1/trying/", body).json()
    yield "Try: REST", of_sides(answer["answer"]["measures"], SIDES)
    page = editor.get(f"/trying/{answer['id']}/").context
    page_values = of_sides([*page["use"], *page["cost"], *page["other_measures"], *page["same"]], SIDES)
    yield "Try: page", {name: value for name, value in page_values.items() if name.split()[1] not in OF_TRYING}


def test_the_cluster_placed_anew(
    client_as: Callable[..., Any], api_as: Callable[..., Any], snapshot: Snapshot, command: Callable[..., Any]
) -> None:
    assert find_differing(told_of_placing(client_as("editor"), api_as("editor"), command)) == {}


# A scenario under two policies.


def of_side(side: str, values: Mapping[str, float | None]) -> Values:
    return {f"{side} {name}": value for name, value in values.items()}


def of_rows(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(response).decode())))


def read_number(text: str) -> float | None:
    return float(text) if text else None


def told_of_a_run(editor: Any, api: Any, run: str) -> Iterator[tuple[str, Values]]:
    page = editor.get(f"/runs/{run}/").context
    page_values = {
        measure.name: measure.value for group, _ in page["measured"] for measure in (*group.leading, *group.near)
    }
    yield "run: page", of_side("policy", page_values)
    run_answer = api.get(f"/api/v1/runs/{run}/").json()
    yield "run: REST", of_side("policy", {measure["name"]: measure["value"] for measure in run_answer["measures"]})
    rows = of_rows(editor.get(f"/runs/{run}/?format=csv&of=measures"))
    yield "run: CSV", of_side("policy", {row["measure"]: read_number(row["value"]) for row in rows})


def told_of_a_comparison(editor: Any, api: Any, comparison: str) -> Iterator[tuple[str, Values]]:
    lines = editor.get(f"/comparisons/{comparison}/").context["lines"]
    for place, side in enumerate(GATE_SIDES):
        page = {line.measure.name: line.values[place].get(1) for line in lines}
        yield "comparison: page", of_side(side, page)
        measures = api.get(f"/api/v1/comparisons/{comparison}/").json()["measures"]
        yield (
            "comparison: REST",
            of_side(side, {measure["name"]: measure["values"][place].get("1") for measure in measures}),
        )
    rows = of_rows(editor.get(f"/comparisons/{comparison}/?format=csv&of=measures"))
    for label, side in zip(("default@1", "packed@1"), GATE_SIDES, strict=True):
        values = {row["measure"]: read_number(row["value"]) for row in rows if row["policy"] == label}
        yield "comparison: CSV", of_side(side, values)


def test_a_scenario_under_two_policies(
    client_as: Callable[..., Any], api_as: Callable[..., Any], snapshot: Snapshot, command: Callable[..., Any]
) -> None:
    editor, api = client_as("editor"), api_as("editor")
    parts = {
        "changes": [{"addWorkload": {"replicas": 8, "manifest": MORE_PODS}}],
        "run": {"place": "pending", "until": "30m"},
    }
    scenario = scenario_on(snapshot, name="more pods", description="", parts=parts, author=person("editor"))
    body = {"scenario": str(scenario.pk)}
    run = api.post("/api/v1/runs/start/", {**body, "policy": "packed"}).json()["id"]
    comparison_body = {**body, "policies": ["default", "packed"], "seeds": [1]}
    comparison = api.post("/api/v1/comparisons/start/", comparison_body).json()["id"]
    work_off()
    gate = {"policy": {"name": "packed"}, "scenario": {"id": str(scenario.pk)}}
    verdict = api.post("/api/v1/gate/", gate).json()
    export = api.get(f"/api/v1/scenarios/{scenario.pk}/revisions/1/export/")
    Path("scenario.json.gz").write_bytes(b"".join(export))
    answer = command("gate", "--policy", "packed.yaml", "--scenario", "scenario.json.gz")

    def all_values() -> Iterator[tuple[str, Values]]:
        yield from told_of_a_run(editor, api, run)
        yield from told_of_a_comparison(editor, api, comparison)
        sides = dict(zip(GATE_SIDES, GATE_SIDES, strict=True))
        yield "gate: REST", of_sides(verdict["measures"], sides)
        yield "gate: command line", of_sides(answer["measures"], sides)

    assert find_differing(all_values()) == {}
    engines = {run["engine"] for run in api.get(f"/api/v1/comparisons/{comparison}/").json()["runs"]}
    assert {api.get(f"/api/v1/runs/{run}/").json()["engine"], verdict["engine"], answer["engine"]} == engines
    assert len(engines) == 1, "one release answers a question"


# What a verdict is held to.


def test_thresholds_have_one_default(
    client_as: Callable[..., Any], api_as: Callable[..., Any], snapshot: Snapshot, command: Callable[..., Any]
) -> None:
    editor = client_as("editor")
    form = editor.get("/gate/?cluster=small").context["form"]
    page = editor.get(editor.post("/gate/?cluster=small", {**form.data, "policy": "packed@1"}).url).context["verdict"]
    rest_verdict = (
        api_as("editor").post("/api/v1/gate/", {"policy": {"name": "packed"}, "snapshot": CLUSTER_QUERY}).json()
    )
    answer = command("gate", "--policy", "packed.yaml", "--snapshot", "cluster.json")
    assert page["thresholds"] == rest_verdict["thresholds"] == answer["thresholds"]
    assert page["verdict"] == rest_verdict["verdict"] == answer["verdict"]
