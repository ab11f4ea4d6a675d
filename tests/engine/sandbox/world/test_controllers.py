"""Controllers bring about what their objects say, on the way that they allow, also after a death at any write."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.eviction import evict_pod
from kschedweb.engine.sandbox.resources import NAMESPACE, NODE, POD, Resource, get_resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import StoreChange
from kschedweb.engine.sandbox.world.pods import get_condition, is_pod_active, is_pod_ready
from kschedweb.engine.sandbox.world.resources import (
    BUDGET,
    CLAIM,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
)
from tests.engine.sandbox.living import Living, pod, workload


def with_nodes(count: int = 3) -> Living:
    living = Living()
    for number in range(count):
        living.node(f"node-{number}", zone="abc"[number % 3])
    living.live(1.0)
    return living


def pods(living: Living, app: str) -> list[Json]:
    return [raw for raw in living.all(POD) if raw["metadata"]["labels"].get("app") == app]


def images(living: Living, app: str) -> Counter[str]:
    return Counter(raw["spec"]["containers"][0]["image"] for raw in pods(living, app) if is_pod_active(raw))


def roll(living: Living, name: str, image: str, resource: Resource = DEPLOYMENT) -> None:
    """Have the pods of a workload run another image."""
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    living.merge(resource, name, {"spec": {"template": template}})


def is_rolled_out(living: Living, name: str) -> bool:
    raw = living.get(DEPLOYMENT, name)
    replicas, status = raw["spec"]["replicas"], raw["status"]
    is_observed = status.get("observedGeneration") == raw["metadata"]["generation"]
    counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
    return is_observed and counts == {replicas} and len(pods(living, name)) == replicas


def test_a_deployment_gets_its_pods_through_a_replica_set() -> None:
    living = with_nodes()
    living.create(DEPLOYMENT, workload("web", 3))
    living.wait_until(lambda: is_rolled_out(living, "web"), 5.0)
    (owner,) = living.all(REPLICA_SET)
    hashed = owner["metadata"]["labels"]["pod-template-hash"]
    assert owner["metadata"]["name"] == f"web-{hashed}"
    assert all(raw["metadata"]["name"].startswith(f"web-{hashed}-") for raw in pods(living, "web"))
    assert living.get(DEPLOYMENT, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert living.reasons(DEPLOYMENT, "web") == ["ScalingReplicaSet"]
    living.merge(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
    living.wait_until(lambda: is_rolled_out(living, "web"), 5.0)
    living.delete(DEPLOYMENT, "web")
    living.live(5.0)
    assert not living.all(REPLICA_SET)
    assert not living.all(POD)


sizes = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "25%", "50%", "100%"]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 8), sizes, sizes, st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=3))
def test_a_roll_out_stays_within_its_limits(
    replicas: int, surge: int | str, unavailable: int | str, steps: list[tuple[int, int]]
) -> None:
    """Never more pods than the surge allows, nor fewer ready ones than may be missing, unless it is scaled as well."""
    living = with_nodes()
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    living.create(DEPLOYMENT, workload("web", replicas, strategy=strategy))
    living.wait_until(lambda: is_rolled_out(living, "web"), 60.0)
    extra = surge if isinstance(surge, int) else -(-int(surge[:-1]) * replicas // 100)
    missing = unavailable if isinstance(unavailable, int) else int(unavailable[:-1]) * replicas // 100
    missing = missing if extra or missing else 1
    roll(living, "web", "example.com/main:2.0")
    for _ in range(400):
        if is_rolled_out(living, "web"):
            break
        assert sum(map(is_pod_active, pods(living, "web"))) <= replicas + extra
        assert sum(is_pod_ready(raw) and is_pod_active(raw) for raw in pods(living, "web")) >= replicas - missing
        living.live(0.2)
    assert is_rolled_out(living, "web")
    for target, image in steps:
        living.merge(DEPLOYMENT, "web", {"spec": {"replicas": target}})
        roll(living, "web", f"example.com/main:{image}.0")
        living.live(0.7)
    living.wait_until(lambda: is_rolled_out(living, "web"), 200.0)
    target, image = steps[-1] if steps else (replicas, 2)
    assert images(living, "web") == Counter({f"example.com/main:{image}.0": target} if target else {})


def test_recreate_lets_the_old_pods_end_first() -> None:
    living = with_nodes()
    living.create(DEPLOYMENT, workload("web", 3, strategy={"type": "Recreate"}))
    living.wait_until(lambda: is_rolled_out(living, "web"), 10.0)
    roll(living, "web", "example.com/main:2.0")
    while not is_rolled_out(living, "web"):
        assert len(images(living, "web")) <= 1
        living.live(0.2)


@pytest.mark.parametrize("resource", [REPLICA_SET, REPLICATION_CONTROLLER])
def test_a_pod_that_is_gone_is_replaced(resource: Resource) -> None:
    living = with_nodes()
    raw = workload("web", 2)
    if resource is REPLICATION_CONTROLLER:
        raw["spec"]["selector"] = {"app": "web"}
    living.create(resource, raw)
    living.live(4.0)
    first = {raw["metadata"]["uid"] for raw in pods(living, "web")}
    living.delete(POD, pods(living, "web")[0]["metadata"]["name"])
    living.live(6.0)
    assert len(pods(living, "web")) == 2
    assert len({raw["metadata"]["uid"] for raw in pods(living, "web")} - first) == 1


def test_a_stateful_set_makes_its_pods_in_order_with_claims_and_ends_them_in_reverse() -> None:
    living = with_nodes()
    mode = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    living.create(STORAGE_CLASS, {"metadata": {"name": "slow"}, **mode})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "slow",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    template = {"metadata": {"name": "data"}, "spec": claim}
    living.create(STATEFUL_SET, workload("db", 3, serviceName="db", volumeClaimTemplates=[template]))
    names_over_time: list[set[str]] = []
    for _ in range(60):
        living.live(0.5)
        names_over_time.append({raw["metadata"]["name"] for raw in pods(living, "db")})
    assert [len(names) for names in names_over_time] == sorted(len(names) for names in names_over_time)
    assert names_over_time[-1] == {"db-0", "db-1", "db-2"}
    assert {"db-0"} in names_over_time
    assert {"db-0", "db-1"} in names_over_time
    assert all(is_pod_ready(raw) for raw in pods(living, "db"))
    for raw in living.all(CLAIM):
        volume = living.get(VOLUME, raw["spec"]["volumeName"])
        assert raw["status"]["phase"] == volume["status"]["phase"] == "Bound"
        node = next(
            raw_pod for raw_pod in pods(living, "db") if raw_pod["metadata"]["name"] == raw["metadata"]["name"][5:]
        )
        zone = living.get(NODE, node["spec"]["nodeName"])["metadata"]["labels"]["topology.kubernetes.io/zone"]
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [zone]
    roll(living, "db", "example.com/main:2.0", STATEFUL_SET)
    living.live(30.0)
    assert images(living, "db") == Counter({"example.com/main:2.0": 3})
    living.merge(STATEFUL_SET, "db", {"spec": {"replicas": 1}})
    living.live(20.0)
    assert [raw["metadata"]["name"] for raw in pods(living, "db")] == ["db-0"]
    assert len(living.all(CLAIM)) == 3
    living.delete(CLAIM, "data-db-2")
    living.live(1.0)
    assert len(living.all(VOLUME)) == 2


def test_an_immediate_claim_gets_its_volume_at_once() -> None:
    living = with_nodes(0)
    living.create(STORAGE_CLASS, {"metadata": {"name": "fast"}, "provisioner": "csi.example.com"})
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}
    living.create(CLAIM, {"metadata": {"name": "data"}, "spec": spec})
    living.live(0.5)
    claim = living.get(CLAIM, "data")
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert living.reasons(CLAIM, "data") == ["ProvisioningSucceeded"]


def test_a_daemon_set_has_one_pod_on_each_node_that_fits() -> None:
    living = with_nodes(2)
    living.node("other", spec={"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]})
    living.create(DAEMON_SET, workload("daemon", None))
    living.live(4.0)
    assert {raw["spec"]["nodeName"] for raw in pods(living, "daemon")} == {"node-0", "node-1"}
    living.node("late")
    living.live(4.0)
    assert living.get(DAEMON_SET, "daemon")["status"]["numberReady"] == 3
    living.merge(NODE, "late", {"spec": {"unschedulable": True}})
    roll(living, "daemon", "example.com/main:2.0", DAEMON_SET)
    living.live(30.0)
    assert images(living, "daemon") == Counter({"example.com/main:2.0": 3})
    living.delete(NODE, "late")
    living.live(60.0)
    assert len(pods(living, "daemon")) == 2


def job(name: str, completions: int, parallelism: int, seconds: int = 30, **spec: int) -> Json:
    raw = workload(name, None)
    raw["spec"] |= {"completions": completions, "parallelism": parallelism, **spec}
    del raw["spec"]["selector"]
    raw["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    raw["spec"]["template"]["metadata"]["annotations"] = {"sandbox.kschedweb.dev/runs-for": f"{seconds}s"}
    return raw


def complete(living: Living, name: str) -> bool:
    return (get_condition(living.get(JOB, name), "Complete") or {}).get("status") == "True"


def test_a_job_runs_so_many_pods_at_once_until_enough_have_succeeded() -> None:
    living = with_nodes()
    living.create(JOB, job("sums", 5, 2, ttlSecondsAfterFinished=60))
    while not complete(living, "sums"):
        assert sum(map(is_pod_active, pods(living, "sums"))) <= 2
        living.live(1.0)
    assert living.get(JOB, "sums")["status"]["succeeded"] == 5 == len(pods(living, "sums"))
    assert living.reasons(JOB, "sums") == ["SuccessfulCreate"] * 5 + ["Completed"]
    living.live(55.0)
    assert living.all(JOB)
    living.live(10.0)
    assert not living.all(JOB)
    assert not living.all(POD)


class Death(BaseException):
    """The process dies."""


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 25), min_size=1, max_size=8), st.integers(1, 5), st.integers(1, 3))
def test_no_death_loses_or_doubles_anything(deaths: list[int], completions: int, parallelism: int) -> None:
    """The process dies after any of its writes, again and again; what was promised comes about, once."""
    living = with_nodes()
    living.create(JOB, job("sums", completions, parallelism))
    living.create(DEPLOYMENT, workload("web", 2))
    living.live(3.0)
    roll(living, "web", "example.com/main:2.0")
    for writes in deaths:
        writes_left = [writes]

        def dies(change: StoreChange, writes_left: list[int] = writes_left) -> None:
            writes_left[0] -= 1
            if writes_left[0] == 0:
                raise Death

        living.store.add_listener(dies)
        with contextlib.suppress(Death):
            living.live(25.0)
        living.restart()
    living.wait_until(lambda: complete(living, "sums") and is_rolled_out(living, "web"), 400.0)
    living.live(10.0)
    assert living.get(JOB, "sums")["status"]["succeeded"] == completions
    assert sum(raw["status"]["phase"] == "Succeeded" for raw in pods(living, "sums")) == completions
    assert images(living, "web") == Counter({"example.com/main:2.0": 2})


def test_a_budget_says_how_many_pods_may_go() -> None:
    living = with_nodes()
    living.create(DEPLOYMENT, workload("web", 3))
    selector = {"matchLabels": {"app": "web"}}
    living.create(BUDGET, {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": selector}})
    living.live(5.0)
    status = living.get(BUDGET, "web")["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (3, 2, 1)
    first, second, _ = (raw["metadata"]["name"] for raw in pods(living, "web"))
    evict_pod(living.objects, "default", first, {})
    living.turn()
    with pytest.raises(ApiRefusal, match="would violate the pod's disruption budget"):
        evict_pod(living.objects, "default", second, {})
    living.live(6.0)
    assert living.get(BUDGET, "web")["status"]["disruptionsAllowed"] == 1
    living.merge(BUDGET, "web", {"spec": {"maxUnavailable": None, "minAvailable": "100%"}})
    living.turn()
    assert living.get(BUDGET, "web")["status"]["disruptionsAllowed"] == 0


def test_a_namespace_goes_with_what_is_in_it() -> None:
    living = with_nodes()
    living.create(NAMESPACE, {"metadata": {"name": "shop"}})
    living.create(DEPLOYMENT, workload("web", 3), "shop")
    living.live(5.0)
    living.delete(NAMESPACE, "shop")
    assert living.get(NAMESPACE, "shop")["status"]["phase"] == "Terminating"
    with pytest.raises(
        ApiRefusal, match="unable to create new content in namespace shop because it is being terminated"
    ):
        living.create(POD, pod("late"), "shop")
    living.restart()
    living.live(5.0)
    assert living.store.get(NAMESPACE, "", "shop") is None
    assert not living.all(POD)
    assert not living.all(DEPLOYMENT)
    assert not living.all(REPLICA_SET)


def test_events_are_kept_for_an_hour() -> None:
    living = with_nodes(1)
    event = get_resource("Event")
    assert living.all(event)
    living.live(3700.0)
    assert not living.all(event)
