"""Random crowded clusters for the classic scheduler, in which pods make room for themselves.

What kube-scheduler 1.13 left to chance is left out, as in classic.py.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.making.classic import KIND, ClassicMaker
from tests.conformance.making.cluster import APPS, NAMESPACES, TEAMS

ADDRESS = "http://extender"
"""Where the extenders of a policy are: the script under ``extender`` says what they say."""
PRIORITIES = [0, 0, 1, 2, 50, -10]


class ClassicRoomMaker(ClassicMaker):
    """Makes clusters whose nodes are full of pods of low priority, and pods of higher priority that wait."""

    def scenario(self, name: str) -> dict:
        scenario = super().scenario(name)
        crowded, pods_per_node = self.maybe(0.7) and not self.settled, self.pick([3, 6, 20])
        pods = [item for item in scenario["objects"] if item["kind"] == "Pod"]
        if crowded:
            scenario["objects"] = [item for item in scenario["objects"] if item["kind"] != "Pod" or self.maybe(0.5)]
            crowd = [
                self.low(f"c{node}-{number}", node, pods_per_node)
                for node in self.names
                for number in range(self.random.randint(0, pods_per_node))
            ]
            scenario["objects"] = [self.plainer(item) for item in scenario["objects"]] + crowd
            pods += crowd
        for pod in pods:
            pod["spec"]["priority"] = self.pick(PRIORITIES)
            if self.maybe(0.04):
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        scenario["objects"] += [self.early_budget(number) for number in range(self.pick([0, 1, 2, 4]))]
        for pod in scenario["pending"]:
            self.raise_up(pod, crowded=crowded)
        if self.maybe(0.25):
            self.extend(scenario)
        return scenario

    def plainer(self, item: dict) -> dict:
        """Most nodes without anything that no eviction would change."""
        if item["kind"] != "Node" or self.maybe(0.3):
            return item
        room = {"cpu": self.pick(["2", "4"]), "memory": "8Gi", "pods": self.pick(["110", "110", "6"])}
        status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        return {**item, "spec": {}, "status": status}

    def raise_up(self, pod: dict, *, crowded: bool) -> None:
        """Let the pending pod be more important than most, and ask for little beside room in most scenarios."""
        if crowded and self.maybe(0.6):
            simple = self.low("", "", 3)
            pod["spec"] = {"containers": simple["spec"]["containers"]}
            pod["metadata"]["labels"] = simple["metadata"]["labels"]
        pod["spec"]["priority"] = self.pick([1, 10, 60, 100])
        pod.pop("status", None)
        if self.maybe(0.25):
            pod["status"] = {"nominatedNodeName": self.pick([*self.names, "gone"])}

    def low(self, name: str, node: str, pods_per_node: int) -> dict[str, Any]:
        labels = {"app": self.pick(APPS), "team": self.pick(TEAMS)} if self.maybe(0.8) else {}
        metadata = {"name": name, "namespace": self.pick(NAMESPACES), "labels": labels, "uid": f"uid-{name}"}
        cpu = self.pick(["0", "100m", "300m"] if pods_per_node > 6 else ["250m", "1", "1500m", "3"])
        container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        if self.maybe(0.1):
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        spec: dict[str, Any] = {"nodeName": node, "containers": [container]}
        affinity = {
            kind: {"requiredDuringSchedulingIgnoredDuringExecution": [self.pod_term()]}
            for kind, chance in (("podAffinity", 0.03), ("podAntiAffinity", 0.06))
            if self.maybe(chance)
        }
        if affinity:
            spec["affinity"] = affinity
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def early_budget(self, number: int) -> dict:
        """A budget of that time, which counts no eviction against the next."""
        labels = self.pick([{}, {"app": self.pick(APPS)}, {"team": self.pick(TEAMS)}])
        return {
            "apiVersion": "policy/v1beta1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget{number}", "namespace": self.pick(NAMESPACES)},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": self.pick([0, 0, 1, 2])},
        }

    def extend(self, scenario: dict) -> None:
        """Give the policy an extender, with what it says."""
        verbs = self.pick([{"filterVerb": "filter"}, {"preemptVerb": "preempt"}, {}])
        extender = verbs or {"filterVerb": "filter", "preemptVerb": "preempt"}
        extender |= {"urlPrefix": ADDRESS, "nodeCacheCapable": self.maybe(0.5), "ignorable": self.maybe(0.5)}
        scenario["policy"] = {**KIND, **scenario.get("policy", {}), "extenders": [extender]}
        uids = [item["metadata"]["uid"] for item in scenario["objects"] if item["kind"] == "Pod"]
        scenario["extender"] = {
            "refuses": {name: self.pick(["", "too far"]) for name in self.names if self.maybe(0.6)},
            "drops": [name for name in self.names if self.maybe(0.2)],
            "spares": [uid for uid in uids if self.maybe(0.05)],
            "breaks": self.maybe(0.1),
        }
