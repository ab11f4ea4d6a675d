"""A script of writes and watches, the same for any API server, and what came of it in a form that can be compared.

Names of what differs between servers in any case (uids, versions, times) are taken out or replaced by what they mean.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.json_types import Json

# method, path with query, body, content type -> status, body
Call = Callable[[str, str, Any, str], tuple[int, Json]]
# path, resource version -> the events after it
WatchCall = Callable[[str, str], list[Json]]

PLAIN, MERGE, STRATEGIC, JSON_PATCH = (
    "application/json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
)
ANOTHER_UID = "00000000-0000-4000-8000-000000000000"


def collections(namespace: str) -> dict[str, str]:
    """The address of each collection that the script is about."""
    core = f"/api/v1/namespaces/{namespace}"
    return {
        "pods": f"{core}/pods",
        "configmaps": f"{core}/configmaps",
        "leases": f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
        "nodes": "/api/v1/nodes",
        "deployments": f"/apis/apps/v1/namespaces/{namespace}/deployments",
        "events": f"/apis/events.k8s.io/v1/namespaces/{namespace}/events",
        "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    }


TIMES = frozenset(
    {"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startTime"}
)
DROPPED = frozenset({"managedFields", "selfLink"})


@dataclass(frozen=True)
class Step:
    """One request. ``version`` and ``uid`` say what of the object as it is then goes with it: "", "own" or "other"."""

    method: str
    path: str
    body: Any = None
    content: str = PLAIN
    version: str = ""
    uid: str = ""


@dataclass
class Heard:
    """Responses of a server: an answer for each step, and the events of each collection."""

    answers: list[tuple[int, Any]] = field(default_factory=list)
    events: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)


def play(seed: int, call: Call, watch: WatchCall) -> Heard:
    """Put every step to a server, one after the other; then hear what watches say of all of it."""
    namespace, steps = f"script-{seed}", script(seed)
    places = collections(namespace)
    begin = {name: call("GET", path, None, PLAIN)[1]["metadata"]["resourceVersion"] for name, path in places.items()}
    heard = Heard()
    for step in steps:
        code, body = call(step.method, step.path, _filled(step, call), step.content)
        heard.answers.append((code, plain(body)))
    for name, path in places.items():
        heard.events[name] = [(event["type"], plain(event["object"])) for event in watch(path, begin[name])]
    return heard


def _filled(step: Step, call: Call) -> Any:
    """The body with the version and uid that it is to carry."""
    if not (step.version or step.uid):
        return step.body
    path = re.sub(r"/(status|binding|eviction)$", "", step.path.partition("?")[0])
    code, now = call("GET", path, None, PLAIN)
    metadata = now.get("metadata", {}) if code == 200 else {}
    body = json.loads(json.dumps(step.body))
    place = body.setdefault("preconditions" if step.method == "DELETE" else "metadata", {})
    if step.version:
        place["resourceVersion"] = metadata.get("resourceVersion", "1") if step.version == "own" else "1"
    if step.uid:
        place["uid"] = metadata.get("uid", ANOTHER_UID) if step.uid == "own" else ANOTHER_UID
    return body


def plain(body: Any) -> Any:
    """``body`` without what two servers never share."""
    if isinstance(body, list):
        return [plain(item) for item in body]
    if isinstance(body, dict):
        return {key: _plain(key, value) for key, value in body.items() if key not in DROPPED}
    return body


def _plain(key: str, value: Any) -> Any:
    if key in TIMES:
        return value if value is None else "time"
    if key == "uid":
        return value if value == ANOTHER_UID else "uid"
    if key == "resourceVersion":
        return "version"
    if key == "causes":
        causes = plain(value)
        return [
            cause for place, cause in enumerate(causes) if cause not in causes[:place]
        ]  # 1.36 says some of them twice
    if key == "continue":
        return "token"
    if key == "message" and isinstance(value, str):
        value = re.sub(r"\n(@@.*?)?(?=\]?$)", "", value, flags=re.DOTALL)  # a diff of Go's fields
        value = re.sub(r"in record \([-0-9a-f]+\)", "in record (there)", value)
        value = re.sub(r"UID in object meta: [-0-9a-f]{36}", "UID in object meta: uid", value)
        return re.sub(r"ResourceVersion in object meta: \d+", "ResourceVersion in object meta: version", value)
    return plain(value)


# The script ---------------------------------------------------------------------------------------------------------


def script(seed: int, count: int = 200) -> list[Step]:
    """``count`` steps drawn by ``seed``, over few names, so that many meet what others left."""
    drawn = _Script(seed)
    steps = [Step("POST", "/api/v1/namespaces", {"metadata": {"name": drawn.namespace}})]
    random = drawn.random
    while len(steps) < count:
        steps += random.choice(drawn.writers)()
    return steps[:count]


class _Script:
    def __init__(self, seed: int) -> None:
        self.random, self.namespace = random.Random(seed), f"script-{seed}"
        self.places = collections(self.namespace)
        once = [self.binding, self.config_map, self.lease, self.node, self.deployment, self.event, self.priority_class]
        self.writers = [self.pod, self.pod, self.pod, *once, self.eviction, self.strange]

    def _edits(self, path: str, name: str, document: Json, patch: Json) -> Iterator[Step]:
        """One of the usual writes of an object."""
        object_path = f"{path}/{name}"
        version, uid = self.random.choice(["", "", "own", "other"]), self.random.choice(["", "", "", "own", "other"])
        match self.random.randrange(6):
            case 0 | 1:
                yield Step("POST", path, document)
            case 2:
                yield Step("PUT", object_path, document, version=version, uid=uid)
            case 3:
                yield Step(
                    "PATCH", object_path, patch, self.random.choice([MERGE, STRATEGIC]), version=version, uid=uid
                )
            case 4:
                yield Step(
                    "DELETE",
                    object_path,
                    {},
                    version=self.random.choice(["", "", "other"]),
                    uid=self.random.choice(["", "own", "other"]),
                )
            case 5:
                steps = [{"op": "add", "path": "/metadata/labels", "value": {"by": "json"}}]
                yield Step("PATCH", object_path, steps, JSON_PATCH)

    def _labels(self) -> Json:
        return {"labels": {"app": self.random.choice(["web", "db"]), "round": str(self.random.randrange(3))}}

    def pod(self) -> Iterator[Step]:
        name = f"p{self.random.randrange(6)}"
        container: Json = {
            "name": "main",
            "image": self.random.choice(["nginx", "nginx:1.27", "example.test/app:latest"]),
        }
        if self.random.random() < 0.6:
            container["resources"] = {self.random.choice(["limits", "requests"]): {"cpu": "100m", "memory": "64Mi"}}
        if self.random.random() < 0.2:
            container["ports"] = [{"containerPort": 8080}]
        spec: Json = {"containers": [container]}
        if self.random.random() < 0.3:
            spec["schedulerName"] = "another"
        if self.random.random() < 0.2:
            spec["schedulingGates"] = [{"name": "example.test/wait"}]
        if self.random.random() < 0.2:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
        if self.random.random() < 0.1:
            spec["priorityClassName"] = self.random.choice(["missing", "system-node-critical", "c0"])
        document = {"metadata": {"name": name, **self._labels()}, "spec": spec}
        if self.random.random() < 0.25:
            yield self._pod_status(name)
            return
        yield from self._edits(self.places["pods"], name, document, {"metadata": self._labels()})

    def _pod_status(self, name: str) -> Step:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/0 nodes"}
        status = self.random.choice(
            [{"conditions": [condition]}, {"phase": "Running"}, {"phase": "Succeeded"}, {"nominatedNodeName": "n0"}]
        )
        return Step(
            "PATCH",
            f"{self.places['pods']}/{name}/status",
            {"status": status},
            STRATEGIC,
            uid=self.random.choice(["", "own", "other"]),
        )

    def binding(self) -> Iterator[Step]:
        name = f"p{self.random.randrange(6)}"
        body: Json = {"metadata": {"name": name}, "target": {"kind": "Node", "name": f"n{self.random.randrange(3)}"}}
        yield Step(
            "POST", f"{self.places['pods']}/{name}/binding", body, uid=self.random.choice(["own", "own", "other", ""])
        )

    def eviction(self) -> Iterator[Step]:
        name = f"p{self.random.randrange(6)}"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self.namespace}}
        yield Step("POST", f"{self.places['pods']}/{name}/eviction", body)

    def config_map(self) -> Iterator[Step]:
        name = f"m{self.random.randrange(3)}"
        document = {"metadata": {"name": name, **self._labels()}, "data": {"key": str(self.random.randrange(9))}}
        yield from self._edits(self.places["configmaps"], name, document, {"data": {"more": "yes", "key": None}})

    def lease(self) -> Iterator[Step]:
        name = f"l{self.random.randrange(3)}"
        times = {"renewTime": "2026-11-24T11:00:00.000000Z", "acquireTime": "2026-11-24T11:00:00.000000Z"}
        spec = {"holderIdentity": self.random.choice("ab"), "leaseDurationSeconds": 15, "leaseTransitions": 0, **times}
        document = {"metadata": {"name": name}, "spec": spec}
        yield from self._edits(self.places["leases"], name, document, {"spec": {"holderIdentity": ""}})

    def node(self) -> Iterator[Step]:
        name = f"n{self.random.randrange(3)}"
        taints = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}] if self.random.random() < 0.4 else []
        status = {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        document: Json = {"metadata": {"name": name, **self._labels()}, "status": status}
        if taints:
            document["spec"] = {"taints": taints}
        if self.random.random() < 0.3:
            conditions = [
                {
                    "type": "Ready",
                    "status": self.random.choice(["True", "False", "Unknown"]),
                    "reason": "R",
                    "message": "m",
                }
            ]
            yield Step("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": conditions}}, STRATEGIC)
            return
        yield from self._edits("/api/v1/nodes", name, document, {"spec": {"unschedulable": True}})

    def deployment(self) -> Iterator[Step]:
        name = f"d{self.random.randrange(3)}"
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]}}
        spec: Json = {"selector": {"matchLabels": labels}, "template": template}
        if self.random.random() < 0.5:
            spec["replicas"] = self.random.randrange(4)
        if self.random.random() < 0.1:
            spec["selector"] = {"matchLabels": {"app": "another"}}
        document = {"metadata": {"name": name}, "spec": spec}
        yield from self._edits(
            self.places["deployments"], name, document, {"spec": {"replicas": self.random.randrange(5)}}
        )

    def event(self) -> Iterator[Step]:
        name = f"e{self.random.randrange(3)}"
        document = {
            "metadata": {"name": name},
            "eventTime": "2026-11-24T11:00:00.000000Z",
            "regarding": {"kind": "Pod", "namespace": self.namespace, "name": "p0"},
            "reason": "Scheduled",
            "action": "Binding",
            "type": "Normal",
            "note": "Successfully assigned",
            "reportingController": "example.test/scheduler",
            "reportingInstance": "example",
        }
        series = {"series": {"count": 2, "lastObservedTime": "2026-11-24T11:00:05.000000Z"}}
        yield from self._edits(self.places["events"], name, document, series)

    def priority_class(self) -> Iterator[Step]:
        name = f"c{self.random.randrange(2)}"
        document = {"metadata": {"name": name}, "value": 100}
        yield from self._edits(self.places["priorityclasses"], name, document, {"description": "some"})

    def strange(self) -> Iterator[Step]:
        """Yield a step that no client should send."""
        yield self.random.choice(
            [
                Step("GET", f"{self.places['pods']}/nothing"),
                Step(
                    "POST", "/api/v1/namespaces/nowhere/pods", {"metadata": {"name": "x"}, "spec": {"containers": []}}
                ),
                Step("POST", self.places["configmaps"], {"metadata": {"name": "x", "namespace": "elsewhere"}}),
                Step("POST", self.places["configmaps"], {"metadata": {}}),
                Step("POST", self.places["configmaps"], {"kind": "Pod", "metadata": {"name": "x"}}),
                Step("PUT", f"{self.places['configmaps']}/m0", {"metadata": {"name": "m1"}}),
                Step("PUT", f"{self.places['pods']}/nothing", {"metadata": {"name": "nothing"}}),
                Step("DELETE", f"{self.places['pods']}/nothing"),
                Step("GET", f"{self.places['pods']}?labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3Dn0"),
                Step("GET", f"{self.places['pods']}?limit=2"),
                Step("GET", f"{self.places['pods']}?fieldSelector=spec.colour%3Dred"),
                Step("PATCH", f"{self.places['pods']}/p0", {"spec": {"schedulerName": "changed"}}, MERGE),
                Step("PATCH", f"{self.places['configmaps']}/m0", {"data": {}}, "text/plain"),
                Step("POST", f"{self.places['configmaps']}?dryRun=All", {"metadata": {"name": "dry"}}),
            ]
        )
