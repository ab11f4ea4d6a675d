"""Live scheduling by real worker processes on the real API server, beside what kube-scheduler does there."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from tests.live.test_credentials_live import Account
from tests.support import seed
from tests.support.kubescheduler import kube_scheduler
from tests.support.livesite import APPROVAL_LABELS, PODS, LiveSite, live_site
from tests.support.processes import free_port, wait_until
from tests.support.prometheus import Prometheus

pytestmark = pytest.mark.live

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
DEFAULT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
POLICY = "\n".join(f"{key}: {value}" for key, value in DEFAULT.items()) + "\nprofiles: [{schedulerName: any}]\n"


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    folder = tmp_path_factory.mktemp("live")
    folder.chmod(0o755)
    with live_site(assets, folder) as site:
        for name, value in (("low", 10), ("high", 1000)):
            body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            site.plane.call("POST", CLASSES, body | {"value": value})
        yield site


@pytest.fixture(autouse=True)
def ended(site: LiveSite) -> Iterator[None]:
    """However a test ends, the next one finds nothing of it."""
    yield
    site.end()


# The same story told to both schedulers.


def story(site: LiveSite, scheduler: str) -> Json:
    """Pods that fit, that fit nowhere, that are gated, and one for which others must go: what is to be read after."""
    site.plane.create_nodes([seed.node("large", cpu="8"), seed.node("small", cpu="2")])
    site.name = scheduler
    site.heard_of("large", "small")

    def create(name: str, cpu: str, **spec: Any) -> None:
        site.plane.call("POST", PODS, site.pod(name, cpu, **spec))

    def wait_for(name: str, predicate: Callable[[Json], bool]) -> None:
        try:
            wait_until(lambda: predicate(site.listed().get(name, {})), name, step=0.05)
        except TimeoutError as late:
            raise TimeoutError(f"{late}: {site.listed().get(name)}") from None

    create("fits", "3", priorityClassName="low")
    wait_for("fits", placed)
    create("too-large", "64")
    wait_for("too-large", lambda pod: bool(condition(pod)))
    create("elsewhere", "1", nodeSelector={"no": "such-node"})
    wait_for("elsewhere", lambda pod: bool(condition(pod)))
    create("gated", "1", schedulingGates=[{"name": "example.com/later"}])
    create("fills", "1500m", priorityClassName="low", nodeSelector={"kubernetes.io/hostname": "small"})
    wait_for("fills", placed)
    create("important", "6", priorityClassName="high")
    wait_for("important", placed)
    wait_for("fits", lambda pod: not pod)
    expected = {"Scheduled": 3, "FailedScheduling": 3, "Preempted": 1}
    try:
        wait_until(lambda: reasons(site) == expected, "the events", step=0.1)
    except TimeoutError as late:
        raise TimeoutError(f"{late}: {reasons(site)}") from None
    outcome = read_output(site)
    site.plane.wipe()
    site.plane.call("DELETE", EVENTS)
    return outcome


def placed(pod: Json) -> bool:
    return bool(pod.get("spec", {}).get("nodeName"))


def condition(pod: Json) -> Json:
    conditions = {item["type"]: item for item in pod.get("status", {}).get("conditions", [])}
    return conditions.get("PodScheduled", {})


def reasons(site: LiveSite) -> dict[str, int]:
    names_by_reason: dict[str, set[str]] = {}
    for event in site.plane.call("GET", EVENTS)["items"]:
        if event["regarding"]["kind"] == "Pod":
            names_by_reason.setdefault(event["reason"], set()).add(event["regarding"]["name"])
    return {reason: len(names) for reason, names in names_by_reason.items()}


def read_output(site: LiveSite) -> Json:
    """Read the scheduler's output, without differences from run to run: uids and times."""
    pods = site.listed()
    uids = {pod["metadata"]["uid"]: name for name, pod in pods.items()}
    events = set()
    for event in site.plane.call("GET", EVENTS)["items"]:
        if event["regarding"]["kind"] != "Pod":
            continue
        note = event["note"]
        for uid, name in uids.items():
            note = note.replace(uid, name)
        assert event["reportingController"] == site.name
        related = (event.get("related") or {}).get("name")
        events.add((event["regarding"]["name"], event["type"], event["reason"], event["action"], note, related))
    fields = ("status", "reason", "message", "observedGeneration")
    conditions = {name: {key: condition(pod).get(key) for key in fields} for name, pod in pods.items()}
    nodes = {name: pod["spec"].get("nodeName") for name, pod in pods.items()}
    return {"events": sorted(events, key=str), "conditions": conditions, "nodes": nodes}


def test_events_conditions_and_places_are_those_of_kube_scheduler(site: LiveSite) -> None:
    with kube_scheduler(site.plane, DEFAULT | {"profiles": [{"schedulerName": "theirs"}]}):
        theirs = story(site, "theirs")
    site.begin("ours", 1, document=POLICY)
    ours = story(site, "ours")
    assert ours["nodes"] == theirs["nodes"]
    assert ours["conditions"] == theirs["conditions"]
    assert ours["events"] == theirs["events"]


def test_a_hundred_pods_are_bound_once_each_and_every_decision_is_kept(site: LiveSite) -> None:
    site.begin("hundred", 1, document=POLICY)
    site.nodes(10)
    site.pods(f"pod-{number}" for number in range(100))
    site.wait_bound(100)
    site.settle()

    def list_decisions() -> list[Json]:
        decisions: list[Json] = site.backstage("decisions", live=site.live)
        return decisions

    wait_until(lambda: len(list_decisions()) >= 100, "every decision is stored", step=0.2)
    assert {row["name"]: row["node"] for row in list_decisions() if row["result"] == "bound"} == site.bound()
    assert {row["attempt"] for row in list_decisions()} == {1}
    # What it says of itself is written down now and then.
    wait_until(lambda: (site.leader() or {"bound": 0})["bound"] == 100, "the leader tells of all")
    leader = site.leader()
    assert leader is not None
    assert 0 < leader["latency"]["p50"] <= leader["latency"]["p99"] < 30
    site.check()


def test_nothing_is_tried_while_paused_but_what_is_stepped(site: LiveSite) -> None:
    site.begin("paused", 1, document=POLICY)
    site.nodes(2)
    site.backstage("pause", live=site.live)
    time.sleep(1.2)  # the pause has arrived: rows are read twice a second
    site.pods(f"pod-{number}" for number in range(5))
    wait_until(lambda: (site.leader() or {"depths": {}})["depths"].get("active") == 5, "five pods are queued")
    assert site.bound() == {}
    site.backstage("step", live=site.live, pods=2)
    wait_until(lambda: len(site.bound()) == 2, "two pods were stepped")
    time.sleep(0.6)
    assert len(site.bound()) == 2
    site.backstage("resume", live=site.live)
    site.wait_bound(5, 10)


def test_another_takes_over_at_once_when_the_leader_is_stopped(site: LiveSite) -> None:
    site.begin("handed", 2, document=POLICY)
    site.nodes(3)
    site.pods(f"early-{number}" for number in range(10))
    site.wait_bound(10)
    wait_until(
        lambda: len([candidate for candidate in site.candidates() if candidate["synced"]]) == 2,
        "one stands by",
        step=0.2,
    )
    first, before = site.leading_worker(), site.leader()
    assert before is not None
    first.signal(signal.SIGTERM)
    wait_until(lambda: not first.alive, "the leader has ended", step=0.05)
    begun = time.monotonic()
    site.pods(f"late-{number}" for number in range(10))
    site.wait_bound(20, 20)
    # A lease that was given back need not run out, which would take 15 seconds.
    assert time.monotonic() - begun < 10
    wait_until(lambda: site.leader() is not None, "the other one leads")
    after = site.leader()
    assert after is not None
    assert after["identity"] != before["identity"]
    assert after["epoch"] > before["epoch"]
    site.check()
    first.stop()
    site.workers.remove(first)


@pytest.mark.nightly
def test_a_prometheus_reads_the_metrics_under_kube_schedulers_names(site: LiveSite, tmp_path: Path) -> None:
    port = free_port()
    for worker in list(site.workers):
        worker.stop()
        site.workers.remove(worker)
    site.start_worker(KSCHEDWEB_METRICS_PORT=str(port))
    site.begin("measured", 1, document=POLICY)
    site.nodes(3)
    site.pods(f"pod-{number}" for number in range(7))
    site.plane.call("POST", PODS, site.pod("too-large", "64"))
    site.wait_bound(7)
    with Prometheus(tmp_path, scrape=[port]).started() as prometheus:

        def reads(query: str, value: float) -> None:
            wait_until(lambda: prometheus.value(query) == value, f"{query} is {value}", step=0.2)

        reads('scheduler_schedule_attempts_total{result="scheduled",profile="measured",cluster="real"}', 7)
        reads('scheduler_schedule_attempts_total{result="unschedulable",profile="measured"}', 1)
        reads('scheduler_pending_pods{queue="unschedulable",profile="measured"}', 1)
        reads('leader_election_master_status{name="kschedweb-measured"}', 1)
        reads("scheduler_pod_scheduling_sli_duration_seconds_count", 7)
        reads('scheduler_cache_size{type="nodes",profile="measured"}', 3)
        reads('scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter"}', 8)
        reads('scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"}', 8)


@pytest.mark.nightly
def test_pods_go_on_being_bound_when_a_token_is_replaced_and_the_old_one_ends(site: LiveSite) -> None:
    account = Account(site.plane)
    token, end = account.token()
    site.backstage("replace_token", cluster="real", token=token)
    site.begin("rotating", 1, document=POLICY, nodes=3)
    before = site.leader()
    assert before is not None
    site.pods(f"early-{number}" for number in range(5))
    site.wait_bound(5)
    other, end_other = account.token()
    site.backstage("replace_token", cluster="real", token=other)
    end()
    site.pods(f"between-{number}" for number in range(5))
    site.wait_bound(10, 20)
    after = site.leader()
    assert after is not None
    # Neither another process nor another term, and nothing was listed anew.
    same = ("identity", "epoch")
    assert [after[name] for name in same] == [before[name] for name in same]
    assert after["watches"]["Pod"]["relists"] == {"start": 1}
    # Ended before it is replaced: it can do nothing until then, and goes on by itself.
    end_other()
    site.pods(f"late-{number}" for number in range(5))
    wait_until(lambda: site.leader() is None or bool(site.candidates()[0]["error"]), "it is refused", step=0.2)
    assert len(site.bound()) == 10
    last, _ = account.token()
    site.backstage("replace_token", cluster="real", token=last)
    site.wait_bound(15, 40)
    assert [candidate["identity"] for candidate in site.candidates()] == [before["identity"]]
    site.check()


@pytest.mark.nightly
def test_a_denial_answers_a_new_leader_until_the_pod_changes(site: LiveSite) -> None:
    """Whatever has the pod tried anew; here a process that knows nothing but the rows."""
    site.begin("denied", workers=1)
    site.nodes(1)
    site.pods(["asked"], labels=APPROVAL_LABELS)
    denied = site.waiting(1)[0]
    assert site.backstage("decide", ids=[denied["id"]], verdict="deny", reason="not today") == []
    wait_until(lambda: not site.requests()[0]["open"], "the pod was told", step=0.1)

    leader = site.leading_worker()
    leader.stop()
    site.replace_worker(leader)
    wait_until(lambda: site.requests()[0]["again"] >= 1, "the new leader asks about the pod", step=0.1)
    wait_until(lambda: not site.requests()[0]["open"], "the pod was told again", step=0.1)
    assert [(row["id"], row["state"]) for row in site.requests()] == [(denied["id"], "denied")]
    assert "not today" in condition(site.listed()["asked"])["message"]

    site.plane.call("PATCH", f"{PODS}/asked", {"metadata": {"labels": {"reviewed": "yes"}}})
    anew = site.waiting(1)
    assert anew[0]["id"] != denied["id"]
    site.approve(anew)
    site.wait_bound(1)
    site.check()
