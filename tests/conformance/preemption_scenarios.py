"""Random crowded clusters, in which pods make room for themselves; the same seed makes the same scenarios."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.cluster import APPS, HOST, NAMESPACES, TEAMS, ZONE
from tests.conformance.making.scenarios import Maker

PLAIN = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 1}


class CrowdMaker(Maker):
    """Makes clusters whose nodes are full of pods of low priority, and pods of higher priority that wait."""

    def crowd(self, name: str) -> dict:
        count = self.random.randint(1, 8)
        max_pods = self.pick([3, 6, 30])
        starts = self.pick(["distinct", "alike", "any"])
        objects = [self.namespace(space) for space in NAMESPACES]
        objects += [self.node(number) for number in range(count)]
        objects += [self.budget(number) for number in range(self.pick([0, 1, 2, 4]))]
        number = 0
        for place in range(count):
            for _ in range(self.random.randint(0, max_pods)):
                objects.append(self.low(f"b{number}", f"n{place:04}", self.start(starts, number), max_pods))
                number += 1
        pending = [self.high(f"p{number}") for number in range(self.random.randint(1, 8))]
        return {
            "name": name,
            "config": self.config() if self.maybe(0.3) else PLAIN,
            "objects": objects,
            "pending": pending,
            "preempt": True,
        }

    def start(self, starts: str, number: int) -> str | None:
        if starts == "alike" or (starts == "any" and self.maybe(0.5)):
            return self.pick([None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])
        return f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"

    def node(self, number: int) -> dict:
        if self.maybe(0.3):
            return super().node(number)
        name = f"n{number:04}"
        allocatable = {"cpu": self.pick(["2", "4"]), "memory": "8Gi", "pods": self.pick(["110", "110", "6"])}
        labels = {HOST: name, ZONE: self.pick(["a", "b"])}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": allocatable},
        }

    def low(self, name: str, on: str, start: str | None, max_pods: int) -> dict:
        if self.maybe(0.1):
            pod = super().pod(name, on)
        else:
            pod = self.simple(name, self.pick(["0", "100m", "300m"] if max_pods > 6 else ["250m", "1", "1500m"]))
        pod["spec"].update(nodeName=on, priority=self.pick([0, 0, 1, 2, 50, -10]))
        pod["status"] = {"startTime": start} if start else {}
        return pod

    def high(self, name: str) -> dict:
        cpu = self.pick(["500m", "1", "1500m", "2", "3"])
        pod = super().pod(name) if self.maybe(0.25) else self.simple(name, cpu)
        pod["spec"]["priority"] = self.pick([1, 10, 60, 100])
        return pod

    def simple(self, name: str, cpu: str) -> dict[str, Any]:
        labels = {"app": self.pick(APPS), "team": self.pick(TEAMS)} if self.maybe(0.9) else {}
        metadata = {"name": name, "namespace": self.pick(NAMESPACES), "labels": labels, "uid": f"uid-{name}"}
        container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}
        if self.maybe(0.1):
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        spec: dict[str, Any] = {"containers": [container]}
        affinity = {
            kind: {"requiredDuringSchedulingIgnoredDuringExecution": [self.pod_term()]}
            for kind, chance in (("podAffinity", 0.03), ("podAntiAffinity", 0.06))
            if self.maybe(chance)
        }
        if affinity:
            spec["affinity"] = affinity
        if self.maybe(0.1):
            spec["topologySpreadConstraints"] = [self.spread()]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
