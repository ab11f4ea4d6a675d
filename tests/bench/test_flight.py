"""A flight recorder over 5,000 nodes that send heartbeats, and 150,000 pods a day that come and go.

An hour of it is fed as text, as watches bring it; the nightly tier feeds a day.
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from django.test import Client

from kschedweb.clusters.flight import selectors
from kschedweb.clusters.flight.models import FlightRecorder
from kschedweb.clusters.flight.stretches import Flight
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Message, Removed
from kschedweb.clusters.kinds import reduce_object
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot
from kschedweb.engine.json_types import Json
from tests.bench.conftest import slowness

pytestmark = [pytest.mark.nightly, pytest.mark.django_db]

NODES, PODS_A_DAY, LIVES = 5000, 150_000, 3600.0  # seconds that a pod lives: 6,250 at a time
HOURS = float(os.environ.get("FLIGHT_HOURS", "1"))
HEARTBEAT = 300.0  # seconds, as the kubelet writes the status of a node that does not change
MOST_A_DAY, MOST_PAGE, MOST_CORE = 2 << 30, 2.0, 0.2
START_TIME, SECOND = 1_795_316_400, 1_000_000
CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


def stamp(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def node(number: int, at: float, version: int) -> Json:
    amounts = {"cpu": "32", "memory": "131072Mi", "pods": "110", "ephemeral-storage": "100Gi"}
    name = f"node-{number:05}"
    conditions = [
        {"type": kind, "status": "True" if kind == "Ready" else "False", "reason": f"Kubelet{kind}",
         "message": f"kubelet says {kind}", "lastHeartbeatTime": stamp(at), "lastTransitionTime": stamp(START_TIME)}
        for kind in CONDITIONS
    ]  # fmt: skip
    images = [
        {"names": [f"registry.example/{image}@sha256:{image:064x}"], "sizeBytes": 50_000_000 + image}
        for image in range(number, number + 20)
    ]
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"n-{number}", "resourceVersion": str(version), "labels": labels},
        "spec": {"podCIDR": f"10.{number // 250}.{number % 250}.0/24"},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images},
    }


def pod(number: int, at: float, version: int, step: int) -> Json:
    """A pod at one of its steps: created, bound, started, ready, ending."""
    app = number % 200
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{app}", "uid": f"{app:032x}"}
    metadata = {
        "name": f"app-{app}-{number:08x}", "namespace": f"team-{app % 20}", "uid": f"{number:032x}",
        "resourceVersion": str(version), "creationTimestamp": stamp(at - step),
        "labels": {"app": f"app-{app}", "pod-template-hash": f"{app:08x}"},
        "ownerReferences": [owner],
    }  # fmt: skip
    asks = {"cpu": f"{100 + app}m", "memory": f"{128 + app}Mi"}
    container = {"name": "main", "image": f"registry.example/app-{app}:1", "resources": {"requests": asks}}
    spec: Json = {"containers": [container], "schedulerName": "default-scheduler", "priority": 0, "volumes": []}
    status: Json = {"phase": "Pending", "qosClass": "Burstable"}
    if step:
        spec["nodeName"] = f"node-{random.Random(number).randrange(NODES):05}"
        status["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(at)}]
    if step > 1:
        status |= {"hostIP": "10.0.0.1", "podIP": f"10.1.{number % 250}.{app}", "startTime": stamp(at)}
    if step > 2:
        status["phase"] = "Running"
        status["conditions"] += [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready")]
    if step > 3:
        metadata["deletionTimestamp"] = stamp(at)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def hour(number: int) -> Iterator[tuple[float, str, str]]:
    """Events that watches deliver in an hour: time, event, and the object as text."""
    born = PODS_A_DAY // 24
    due: list[tuple[float, str, Callable[[float, int], Json]]] = []
    for index in range(born):
        at, name = number * 3600 + 3600 * index / born, number * born + index
        for step, later in enumerate((0.0, 0.05, 0.5, 3.0)):
            due.append((at + later, "CHANGED", partial(pod, name, step=step)))
        if name >= born:
            ends = name - born
            due.append((at, "CHANGED", partial(pod, ends, step=4)))
            due.append((at + 1.0, "DELETED", partial(pod, ends, step=4)))
    for index in range(NODES):
        for beat in range(int(3600 / HEARTBEAT)):
            at = number * 3600 + beat * HEARTBEAT + HEARTBEAT * index / NODES
            due.append((at, "CHANGED", partial(node, index)))
    for version, (at, event, make) in enumerate(sorted(due, key=lambda change: change[0])):
        yield START_TIME + at, event, json.dumps(make(START_TIME + at, version))


def test_a_day_is_small_cheap_and_quickly_asked(client_as: Callable[[str], Client]) -> None:
    cluster = Cluster.objects.create(name="large", source=ClusterSource.TOKEN)
    FlightRecorder.objects.create(cluster=cluster, on=True, holder="me")
    flight = Flight(cluster, "me", ("Node", "Pod"), "started")
    start = START_TIME * SECOND
    flight.take_news(
        start - 3 * SECOND, Listed("Node", [node(index, START_TIME, 0) for index in range(NODES)], "1", "start")
    )
    flight.take_news(
        start - 3 * SECOND,
        Listed("Pod", [pod(index, START_TIME, 0, 3) for index in range(PODS_A_DAY // 24)], "1", "start"),
    )
    flight.store_known(start - SECOND)
    spent, last_bookmark, events = 0.0, float(START_TIME), 0
    for number in range(1, math.ceil(HOURS) + 1):
        for at, event, text in hour(number):
            if at > START_TIME + 3600 * (1 + HOURS):
                break
            begun = time.process_time()
            raw = reduce_object(json.loads(text))
            kind = str(raw["kind"])
            news: Message = Removed(kind, raw) if event == "DELETED" else Changed(kind, raw)
            flight.take_news(int(at * SECOND), news)
            if at - last_bookmark >= 5:
                for watched_kind in ("Node", "Pod"):
                    flight.take_news(int(at * SECOND), Bookmark(watched_kind, "1"))
                flight.store_known(int(at * SECOND))
                last_bookmark = at
            spent += time.process_time() - begun
            events += 1
    flight.store_known(int(at * SECOND))
    day = selectors.stored_size(cluster) * 24 / HOURS
    core = spent / (3600 * HOURS)
    print(f"\nflight recorder: {events:,} events in {HOURS:g} h, {day / 2**20:,.0f} MiB a day, {core:.1%} of a core")
    client = client_as("viewer")
    last = selectors.list_stretches(cluster).get().until / SECOND
    assert client.get("/clusters/large/flight/").status_code == 200  # a process that has shown a page before
    took = {}
    for page in ("/pods/", "/nodes/", "/"):
        moment = selectors.moment_of(int((last - random.Random(page).uniform(0, 1800 * HOURS)) * SECOND))
        for visit in ("first", "again"):
            begun = time.process_time()
            answer = client.get(page, {"cluster": "large", "at": moment.isoformat()})
            took[page, visit] = time.process_time() - begun
            assert answer.status_code == 200
    counts = Snapshot.objects.filter(moment__isnull=False).values_list("counts", flat=True)
    print(
        "as of: "
        + ", ".join(f"{page} {visit} {seconds:.2f} s" for (page, visit), seconds in took.items())
        + f"; {[count['Pod'] for count in counts]} pods"
    )
    assert day <= MOST_A_DAY
    assert core <= MOST_CORE * slowness()
    assert max(took.values()) <= MOST_PAGE * slowness()
