"""An extender beside the real kube-scheduler process: asked by it and by the engine, it leads both to the same end."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import pytest

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.extenders.transport import create_post
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from tests.live.test_kube_scheduler_live import CONFIG, PlacementCheck, path_of, read_all, start
from tests.support.kubescheduler import PodWatch, kube_scheduler

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

NODES, PODS = 30, 80
PRIORITIES = {"low": 10, "middle": 100, "high": 1000}


class Warden(BaseHTTPRequestHandler):
    """Answers by what it thinks of a pod on a node, whoever else is asked about; binds pods itself."""

    plane: ClassVar[ControlPlane]
    question_counts: ClassVar[Counter[str]] = Counter()
    bound: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        verb, question = self.path[1:], json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.question_counts[verb] += 1
        body = json.dumps(getattr(self, f"{verb}_")(question)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def opinion(pod: Json, node: str) -> int:
        """Some pods are wanted nowhere."""
        name = pod["metadata"]["name"]
        return 0 if name.endswith("7") else crc32(f"{name} {node}".encode())

    def filter_(self, question: Json) -> Json:
        names, pod = question["NodeNames"], question["Pod"]
        thought = {name: self.opinion(pod, name) % 8 for name in names}
        lost = {name: "is out of bounds" for name in names if thought[name] == 0}
        # One at most: preemption words what it finds on such nodes in an order left to chance.
        busy = dict([(name, "is busy") for name in sorted(names) if thought[name] == 1][:1])
        passing = [name for name in reversed(names) if thought[name] > 1]
        return {"NodeNames": passing, "FailedNodes": busy, "FailedAndUnresolvableNodes": lost}

    def prioritize_(self, question: Json) -> list[Json]:
        ranked = sorted(question["NodeNames"], key=lambda name: self.opinion(question["Pod"], name))
        return [{"Host": name, "Score": 10 * place} for place, name in enumerate(ranked)]

    def preempt_(self, question: Json) -> Json:
        """Only nodes that pass; of those every second one, where there are several."""
        pod, offered = question["Pod"], question["NodeNameToVictims"]
        passing = sorted(name for name in offered if self.opinion(pod, name) % 8 > 1)
        agreed = {
            name: {
                "Pods": [{"UID": victim["metadata"]["uid"]} for victim in offered[name]["Pods"]],
                "NumPDBViolations": offered[name]["NumPDBViolations"],
            }
            for name in passing[::2]
        }
        return {"NodeNameToMetaVictims": agreed}

    def bind_(self, question: Json) -> Json:
        self.plane.bind(question["PodNamespace"], question["PodName"], question["Node"])
        self.bound.add(f"{question['PodNamespace']}/{question['PodName']}")
        return {}

    def log_message(self, *_: Any) -> None:
        pass


def pod(number: int, cpu: str, priority: str, node: str = "") -> Json:
    container = {"name": "main", "image": "registry.example/app:v1", "resources": {"requests": {"cpu": cpu}}}
    spec: Json = {"containers": [container], "priorityClassName": priority, "terminationGracePeriodSeconds": 0}
    metadata = {"name": f"pod-{number}", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec | ({"nodeName": node} if node else {}),
    }


def node(number: int) -> Json:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": f"node-{number:02}", "labels": {"kubernetes.io/hostname": f"node-{number:02}"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def priority_class(name: str, value: int) -> Json:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": value}


@pytest.fixture
def warden(control_plane: ControlPlane) -> Iterator[str]:
    Warden.plane = control_plane
    server = ThreadingHTTPServer(("127.0.0.1", 0), Warden)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def live(control_plane: ControlPlane, warden: str) -> Iterator[PlacementCheck]:
    """Nodes of which two thirds are full of pods of low priority, and two extenders."""
    by_name = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 7, "bindVerb": "bind"}
    extenders = [
        {"urlPrefix": f"{warden}/", "nodeCacheCapable": True, **by_name},
        {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "nobody", "ignorable": True},
        {"urlPrefix": warden, "preemptVerb": "preempt"},
    ]
    loaded = load(CONFIG | {"extenders": extenders}, control_plane.release)
    configuration = loaded.configuration
    assert configuration is not None, loaded.errors
    classes = [priority_class(name, value) for name, value in PRIORITIES.items()]
    for item in classes:
        control_plane.call("POST", path_of(item), item)
    control_plane.create_nodes(node(number) for number in range(NODES))
    for number in range(2 * NODES):
        if number % 3:
            raw = pod(1000 + number, "2", "low", f"node-{number % NODES:02}")
            control_plane.call("POST", path_of(raw), raw)
            start(control_plane, raw)
    engine_extenders = Extenders(configuration.extenders, create_post(configuration.extenders))
    engine = Scheduler(read_all(control_plane), configuration, extenders=engine_extenders)
    process = kube_scheduler(control_plane, CONFIG | {"extenders": extenders})
    with process, contextlib.closing(PodWatch(control_plane)) as watch:
        yield PlacementCheck(control_plane, watch, engine)
    control_plane.wipe()
    for item in classes:
        control_plane.request("DELETE", f"{path_of(item)}/{item['metadata']['name']}")


def test_each_pod_goes_where_the_extender_would_have_it(live: PlacementCheck) -> None:
    for number in range(PODS):
        priority = ("low", "high", "middle", "high")[number % 4]
        live.place(pod(number, ("500m", "3", "1500m", "2", "9")[number % 5], priority))
    assert live.outcomes["placed"] > PODS // 4
    assert live.outcomes["by force"] > PODS // 10
    assert live.outcomes["unschedulable"] > 3
    assert len(Warden.bound) == live.outcomes["placed"] + live.outcomes["by force"]
    assert set(Warden.question_counts) == {"filter", "prioritize", "preempt", "bind"}
    assert any("is out of bounds" in message for message in live.messages)
    assert any(message.endswith("preemption: no candidate node for preemption") for message in live.messages)
