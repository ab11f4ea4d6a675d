"""Objects bent at random: the engine understands them, or names them with the field and the reason; it never breaks."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.__main__ import main
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import Pod, describe_object
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    NodeJoins,
    PodArrives,
    Simulation,
    SimulationError,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import CONFIGURATION
from tests.support import tiers
from tests.support.hostile import REQUIRED, bare_pod, bent, cluster, node, originals, plain_pod, pod, thing

DEFAULTS = load(CONFIGURATION).configuration
# A field with its path, and what is wrong with it; or a reference that leads nowhere.
REASON = re.compile(r"[\w.\[\]'/-]*.*: .+|is bound to node .+|is not a Kubernetes object", re.DOTALL)
thorough = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def decide(objects: list[Any]) -> Snapshot:
    """Explain and schedule every pending pod among ``objects``, and one more; only the cycle itself may fail."""
    assert DEFAULTS is not None
    snapshot = Snapshot.from_objects(objects)
    scheduler = Scheduler(snapshot, DEFAULTS)
    for waiting in [*snapshot.pending, Pod.from_json(bare_pod("one-more"))]:
        with contextlib.suppress(CycleError):
            json.dumps(scheduler.explain(waiting, preemption=True).to_dict())
    Scheduler(snapshot.copy(), DEFAULTS).schedule_pods(snapshot.pending, SearchRequest(preempt=True))
    return snapshot


def with_originals(items: list[Json]) -> list[Any]:
    """``items`` in the place of what they were made from, among all the others."""
    bent_objects = {describe_object(item) for item in items}
    return [item for item in originals() if describe_object(item) not in bent_objects] + items


@settings(thorough, max_examples=tiers.count(80, 5000))
@given(st.lists(bent(), min_size=5, max_size=5))
def test_no_bent_object_breaks_the_engine(items: list[Json]) -> None:
    snapshot = decide(with_originals(items))
    for name, reason in snapshot.problems:
        assert REASON.fullmatch(reason), f"{name}: {reason}"


@settings(thorough, max_examples=tiers.count(20, 1000))
@given(st.lists(bent(), min_size=5, max_size=5))
def test_no_bent_object_breaks_a_simulation(items: list[Json]) -> None:
    """Neither there from the beginning nor coming in later."""
    assert DEFAULTS is not None
    objects = with_originals(items)
    arrivals: list[SimulationEvent] = [PodArrives(1.0, item) for item in items if item.get("kind") == "Pod"]
    joining: list[SimulationEvent] = [NodeJoins(2.0, item | {"metadata": {"name": "late"}}) for item in items]
    for listed, events in ((objects, []), (cluster(), arrivals), (cluster(), joining)):
        with contextlib.suppress(SimulationError):
            Simulation(listed, DEFAULTS, events, SimulationSettings(sample=10.0)).run(20.0)


def run(command: str, scenario: Json) -> tuple[int, str, str]:
    """Exit status, answer and error of the command line, written as to a terminal or pipe."""
    buffers = io.BytesIO(), io.BytesIO()
    out, error = (io.TextIOWrapper(buffer, encoding="utf-8", write_through=True) for buffer in buffers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(json.dumps(scenario)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = main([command])
    output, complaints = (buffer.getvalue().decode() for buffer in buffers)
    return status, output, complaints


def scenario_of(item: Json) -> Json:
    """``item`` among all others: under ``pending`` where it is a pod without a node."""
    waiting = [raw for raw in with_originals([item]) if raw.get("kind") == "Pod" and not bound(raw)]
    return {
        "name": "bent",
        "objects": [raw for raw in with_originals([item]) if raw not in waiting],
        "pending": waiting,
    }


def bound(pod: Json) -> bool:
    spec = pod.get("spec")
    return isinstance(spec, dict) and bool(spec.get("nodeName"))


@settings(thorough, max_examples=tiers.count(60, 5000))
@given(bent(), st.sampled_from(["explain", "schedule"]))
def test_the_command_line_answers_or_names_the_object_in_one_line(item: Json, command: str) -> None:
    status, out, error = run(command, scenario_of(item))
    if status == 0:
        # What is odd, but means something to the scheduler, is said and run with.
        for line in error.splitlines():
            assert line.startswith("kschedweb.engine: line 1: bent: ")
            assert any(words in line for words in (" is invalid: ", " cannot be handled as a ", ": annotation "))
        assert json.loads(out)["name"] == "bent"
        return
    assert (status, out) == (2, "")
    assert error.startswith("kschedweb.engine: line 1: bent: ")
    assert len(error.splitlines()) == 1
    description = " ".join(describe_object(item).splitlines()).encode("utf-8", "backslashreplace").decode()
    # A cycle may also fail for another pod, because of what it refers to.
    assert description in error or "Pod default/" in error


@pytest.mark.parametrize(
    ("change", "expected_error"),
    [
        ({"requests": {"cpu": "-1"}}, "spec.containers[0].resources.requests.cpu: must not be negative, is -1"),
        ({"limits": {"memory": "much"}}, "spec.containers[0].resources.limits.memory: 'much' is not a quantity"),
        ({"requests": []}, "spec.containers[0].resources.requests: must be an object, is a list"),
    ],
)
def test_a_quantity_is_named_by_object_field_and_reason(change: Json, expected_error: str) -> None:
    broken = bare_pod("broken")
    broken["spec"]["containers"][0]["resources"] = change
    status, _, error = run("explain", {"name": "x", "objects": [node("node-1", "a")], "pending": [broken]})
    assert status == 2
    assert error.startswith(f"kschedweb.engine: line 1: x: pending[0]: Pod default/broken: {expected_error}")


@pytest.mark.parametrize(
    ("kind", "name", "change", "expected_error"),
    [
        ("Service", "web", {"selector": []}, "spec.selector: must be an object, is a list"),
        ("ReplicationController", "web", {"selector": {"a": 1}}, "spec.selector['a']: must be a string, is a number"),
        (
            "ReplicaSet",
            "web",
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}},
            "spec.selector.matchExpressions[0].values: must be a list, is a string",
        ),
        (
            "PodDisruptionBudget",
            "web",
            {"selector": {"matchExpressions": [{"key": 1, "operator": "In", "values": ["b"]}]}},
            "spec.selector.matchExpressions[0].key: must be a string, is a number",
        ),
    ],
)
def test_what_selects_pods_is_refused_when_it_comes_in(kind: str, name: str, change: Json, expected_error: str) -> None:
    broken = thing("v1", kind, name, "default", spec=change)
    status, _, error = run("explain", {"name": "x", "objects": [node("node-1", "a"), broken], "pending": []})
    assert (status, error) == (2, f"kschedweb.engine: line 1: x: objects: {kind} default/{name}: {expected_error}\n")


def test_what_an_api_server_would_refuse_is_named_and_means_what_it_means_to_the_scheduler() -> None:
    odd = bare_pod("odd", tolerations=[{"key": "a", "operator": "Sometimes"}], nodeSelector={})
    term = {"matchExpressions": [{"key": "size", "operator": "Like", "values": ["5"]}]}
    odd["spec"]["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    status, out, error = run("explain", {"name": "x", "objects": [node("node-1", "a")], "pending": [odd]})
    operator_path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator"
    unsupported = 'Unsupported value: "Sometimes": supported values: "Equal", "Exists"'
    assert error.splitlines() == [
        f'kschedweb.engine: line 1: x: Pod "odd" is invalid: {refusal}'
        for refusal in (
            f'{operator_path}: Invalid value: "Like": not a valid selector operator',
            f"spec.tolerations[0].operator: {unsupported}",
        )
    ]
    message = json.loads(out)["pods"][0]["message"]
    assert (status, message) == (0, "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")


@pytest.mark.parametrize("command", ["explain", "schedule", "condition"])
def test_a_pod_of_another_scheduler_is_no_error(command: str) -> None:
    """kube-scheduler does not queue it: ``responsibleForPod``."""
    pending = [bare_pod("lost", schedulerName="nobody"), bare_pod("mine")]
    status, out, error = run(command, {"name": "x", "objects": [node("node-1", "a")], "pending": pending})
    answer = json.loads(out)
    lost, mine = answer["placements" if command == "schedule" else "pods"]
    assert (status, error, lost["message"]) == (0, "", "Handled by nobody")
    assert "node-1" in (mine.get("chosen"), mine.get("node"))


def test_text_that_cannot_be_written_is_escaped() -> None:
    """JSON may name half a character, which no terminal takes."""
    odd = bare_pod("\ud800 and\na line")
    objects = [node("node-1", "a")]
    status, out, error = run("explain", {"name": "\udfff", "objects": objects, "pending": [odd]})
    assert (status, error.count("\n")) == (0, 1)
    assert ' is invalid: metadata.name: Invalid value: "' in error
    answer = json.loads(out)
    assert answer["name"] == "\udfff"
    assert answer["pods"][0]["pod"] == "default/\ud800 and\na line"
    odd["spec"]["priority"] = "high"
    status, _, error = run("explain", {"name": "\udfff", "objects": objects, "pending": [odd]})
    assert (status, error.count("\n")) == (2, 1)


def test_amounts_beyond_64_bits_wrap_around_without_a_word() -> None:
    """As they do in kube-scheduler, rather than as warnings beside the answer."""
    largest = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1", "memory": str(2**63 - 1)}}}
    full = [bare_pod(f"full-{number}", nodeName="node-1", containers=[largest]) for number in range(3)]
    scenario = {"name": "x", "objects": [node("node-1", "a"), *full], "pending": [bare_pod("waiting")]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("explain", scenario)[::2] == run("schedule", scenario)[::2] == (0, "")


def test_ten_thousand_labels_are_labels_like_others() -> None:
    many = {f"label-{number}": "x" for number in range(10_000)}
    objects = copy.deepcopy(cluster())
    for item in objects:
        item["metadata"]["labels"] = {**item["metadata"]["labels"], **many}
    waiting = plain_pod("waiting")
    waiting["metadata"]["labels"] = many
    waiting["spec"]["topologySpreadConstraints"][0]["labelSelector"] = {"matchLabels": many}
    snapshot = decide([*objects, waiting])
    assert snapshot.problems == []


def test_nesting_has_no_end_that_matters() -> None:
    deep = bare_pod("deep")
    inner: Any = deep["spec"]
    for _ in range(400):
        inner["x"] = [{}]
        inner = inner["x"][0]
    inner["operator"] = "Deep"
    status, _, error = run("explain", {"name": "x", "objects": [node("node-1", "a")], "pending": [deep]})
    assert (status, error) == (0, "")


def test_references_that_go_in_circles_end() -> None:
    """A pod that owns itself and its claim, whose volume is bound to it, owners that own each other."""
    waiting = pod("circle")
    waiting["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "circle", "uid": "uid-circle", "controller": True}
    ]
    sets = [thing("apps/v1", "ReplicaSet", name, "default", spec={"selector": {}}) for name in ("one", "two")]
    for first, other in (sets, sets[::-1]):
        reference_to = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": other["metadata"]["name"], "uid": "u"}
        first["metadata"]["ownerReferences"] = [reference_to | {"controller": True}]
    objects = copy.deepcopy(cluster())
    claim = next(item for item in objects if item["kind"] == "PersistentVolumeClaim")
    claim["metadata"]["ownerReferences"] = waiting["metadata"]["ownerReferences"]
    waiting["status"]["nominatedNodeName"] = "node-1"
    assert decide([*objects, *sets, waiting]).problems == []
