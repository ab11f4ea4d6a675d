"""Random nodes, and the objects around pods."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.chance import Chance

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
APPS, TEAMS, NAMESPACES = ["web", "db", "cache"], ["red", "blue"], ["default", "prod", "dev"]
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
IMAGES = [f"registry.example/{name}" for name in ("web:v1", "db:v1", "cache", "side:v2")]
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"]
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


class Cluster(Chance):
    """Makes nodes, namespaces, services, budgets and controllers."""

    def namespace(self, name: str) -> dict:
        labels = {"env": self.pick(["prod", "dev"])} if self.maybe(0.7) else {}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    def node(self, number: int) -> dict:
        name = f"n{number:04}"
        spec: dict[str, Any] = {"taints": [self.taint() for _ in range(self.random.choice([0, 0, 0, 1, 2]))]}
        if self.maybe(0.08):
            spec["unschedulable"] = True
        if self.maybe(0.03):
            spec["taints"].append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        status: dict[str, Any] = {"allocatable": self.allocatable(), "images": self.images()}
        if self.maybe(0.15):
            status["declaredFeatures"] = self.some(
                ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Z"], 3
            )
        metadata: dict[str, Any] = {"name": name, "labels": self.node_labels(name)}
        if self.maybe(0.03):
            del metadata["labels"]
        if self.maybe(0.02):
            status = {}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}

    def node_labels(self, name: str) -> dict[str, str]:
        labels = {HOST: name} if self.maybe(0.95) else {}
        if self.maybe(0.8):
            labels[self.pick([ZONE, ZONE, ZONE, BETA_ZONE])] = self.pick(["a", "b", "c", "a", "b", "c", ""])
        if self.maybe(0.3):
            labels[self.pick([REGION, REGION, REGION, BETA_REGION])] = self.pick(["r1", "r2"])
        if self.maybe(0.5):
            labels["disk"] = self.pick(["ssd", "hdd"])
        if self.maybe(0.4):
            labels["gen"] = self.pick(["1", "5", "9", "x", "-3", "05", "9223372036854775808", ""])
        return labels

    def allocatable(self) -> dict[str, Any]:
        allocatable: dict[str, Any] = {
            "cpu": self.pick(["1", "2", "4", "7500m", "0"]),
            "memory": self.pick(["2Gi", "8Gi", "15500Mi"]),
        }
        if self.maybe(0.2):
            allocatable = {
                "cpu": self.format_amount(self.pick([0.5, 2, 4, 64])),
                "memory": self.format_amount(self.pick([1e9, 7.7e9, 3e11])),
            }
        if self.maybe(0.05):
            del allocatable[self.pick(["cpu", "memory"])]
        if self.maybe(0.95):
            allocatable["pods"] = self.pick(["110", "110", "3", "0"])
        for name, amounts in (
            ("example.com/gpu", ["0", "1", "4"]),
            ("ephemeral-storage", ["1Gi", "10Gi", "0"]),
            ("hugepages-2Mi", ["0", "64Mi"]),
            ("example.com/fpga", ["2", "500m"]),
        ):
            if self.maybe(0.3):
                allocatable[name] = self.pick(amounts)
        return allocatable

    def images(self) -> list[dict]:
        images = []
        for image in self.some(IMAGES):
            names = [image if ":" in image else f"{image}:latest"]
            if self.maybe(0.2):
                names.append(f"{image}@sha256:{'0' * 64}")
            images.append({"names": names, "sizeBytes": self.pick([10**7, 3 * 10**8, 2 * 10**9, 23 * 2**20, 0])})
        return images

    def taint(self) -> dict:
        return {"key": self.pick(["k", "m"]), "value": self.pick(["", "v", "w"]), "effect": self.pick(EFFECTS)}

    def selector(self) -> dict | None:
        if self.maybe(0.08):
            return self.pick([None, {}])
        selector: dict[str, Any] = {}
        if self.maybe(0.8):
            selector["matchLabels"] = {"app": self.pick(APPS)}
        if self.maybe(0.3):
            selector["matchExpressions"] = [self.expression("team", TEAMS)]
        return selector

    def expression(self, key: str, values: list[str]) -> dict:
        operator = self.pick(OPERATORS)
        requirement: dict[str, Any] = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            requirement["values"] = self.random.sample(values, self.random.randint(1, len(values)))
        return requirement

    def service(self, number: int) -> dict:
        spec = {"selector": self.pick([{"app": self.pick(APPS)}, {"app": self.pick(APPS), "team": "red"}, {}])}
        if self.maybe(0.1):
            spec = {}
        metadata = {"name": f"s{number}", "namespace": self.pick(NAMESPACES)}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

    def budget(self, number: int) -> dict:
        status: dict[str, Any] = {"disruptionsAllowed": self.random.randint(0, 2)}
        if self.maybe(0.2):
            status["disruptedPods"] = {"b1": "2026-01-01T00:00:00Z"}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"d{number}", "namespace": self.pick(NAMESPACES)},
            "spec": {"selector": self.selector()},
            "status": status,
        }

    def controller(self, kind: str) -> dict:
        selector: Any = {"app": self.pick(APPS)}
        if kind != "ReplicationController":
            selector = self.selector() or {"matchLabels": selector}
        return {
            "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
            "kind": kind,
            "metadata": {"name": "owner", "namespace": self.pick(NAMESPACES)},
            "spec": {"selector": selector},
        }
