"""Random scenarios over everything the engine decides; the same seed makes the same scenarios."""

from __future__ import annotations

from tests.conformance.making.cluster import HOST, NAMESPACES
from tests.conformance.making.configs import DEFAULT, OTHER, Configs
from tests.conformance.making.pods import Pods


class Maker(Configs, Pods):
    """Makes one scenario after the other from ``random``."""

    def scenario(self, name: str, *, nodes: int | None = None) -> dict:
        count = nodes or self.random.randint(1, 9)
        schedulers = self.schedulers()
        placed = self.random.randint(0, 3 * min(count, 40))
        bound = [self.pod(f"b{number}", on=f"n{self.random.randrange(count):04}") for number in range(placed)]
        pending = [self.pod(f"p{number}") for number in range(self.random.randint(1, 4))]
        for pod in pending:
            pod["spec"]["schedulerName"] = self.pick(schedulers)
        return {
            "name": name,
            "config": self.config(schedulers),
            "objects": [*self.around(), *(self.node(number) for number in range(count)), *bound],
            "pending": pending,
            "mode": self.pick(["each", "sequence"]),
        }

    def schedulers(self) -> list[str]:
        return [DEFAULT, OTHER] if self.maybe(0.15) else [DEFAULT]

    def around(self) -> list[dict]:
        objects = [self.namespace(name) for name in self.some(NAMESPACES)]
        objects += [self.service(number) for number in range(self.random.randint(0, 2))]
        objects += [self.budget(number) for number in range(self.pick([0, 0, 1, 2]))]
        return objects + [
            self.controller(kind) for kind in self.some(["ReplicaSet", "StatefulSet", "ReplicationController"])
        ]


class Writer(Maker):
    """Amounts in every notation, sidecars, pod-level resources, overhead and resizes more often than not."""

    odd = 0.7

    def fill(self, spec: dict) -> None:
        super().fill(spec)
        spec.pop("topologySpreadConstraints", None)
        if self.maybe(0.5):
            spec.pop("overhead", None)
            spec["resources"] = {key: self.amounts() for key in self.some(["requests", "limits"], 2)}
        if self.maybe(0.5):
            spec.setdefault("initContainers", [self.container(9), self.container(8)])
            self.pick(spec["initContainers"])["restartPolicy"] = "Always"

    def affinity(self, chance: float = 0.02) -> dict:
        return super().affinity(chance)

    def run(self, spec: dict, status: dict) -> None:
        if self.maybe(0.8):
            super().run(spec, status)


class Classes(Maker):
    """Long sequences of pods of a few classes that match one another's selectors, in turn."""

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        count = nodes or self.random.randint(20, 120)
        number = pods or self.random.randint(30, 150)
        bound_classes = [self.prototype(place) for place in range(self.random.randint(1, 3))]
        classes = [self.prototype(place) for place in range(self.random.randint(2, 6))]
        schedulers = self.schedulers()
        for pod in classes:
            pod["spec"]["schedulerName"] = self.pick(schedulers)
        bound = []
        for place in range(self.random.randint(0, count)):
            pod = self.instance(self.pick(bound_classes), f"b{place}")
            pod["spec"]["nodeName"] = f"n{self.random.randrange(count):04}"
            bound.append(pod)
        return {
            "name": name,
            "config": self.config(schedulers),
            "objects": [*self.around(), *(self.roomy(place) for place in range(count)), *bound],
            "pending": [self.instance(self.pick(classes), f"p{place}") for place in range(number)],
            "mode": "sequence",
        }

    def prototype(self, place: int) -> dict:
        """A class of pods; most of them ask for little, so that many find room."""
        pod = self.pod(f"class{place}")
        for container in pod["spec"]["containers"]:
            if self.maybe(0.8):
                container["resources"] = {
                    "requests": self.pick([{}, {"cpu": "100m", "memory": "64Mi"}, {"cpu": "50m"}])
                }
            if self.maybe(0.7):
                container.pop("ports", None)
        if self.maybe(0.7):
            pod["spec"].pop("nodeSelector", None)
            pod["spec"].pop("overhead", None)
        if self.maybe(0.5):
            pod["spec"]["affinity"] = self.affinity(0.6)
        if self.maybe(0.4):
            pod["spec"]["topologySpreadConstraints"] = self.spreads(2)
        pod["metadata"].pop("deletionTimestamp", None)
        pod["spec"].pop("nodeName", None)
        pod["status"] = {}
        return pod

    def instance(self, prototype: dict, name: str) -> dict:
        """A pod of the class; now and then its labels are its own."""
        metadata = prototype["metadata"] | {"name": name, "uid": f"uid-{name}"}
        spec = prototype["spec"] | {}
        if self.maybe(0.05):
            metadata["labels"] = {"app": self.pick(["web", "db", "cache"]), "team": self.pick(["red", "blue"])}
        if self.maybe(0.05):
            spec["containers"] = [
                *spec["containers"],
                {"name": "extra", "image": "i", "resources": {"requests": {"cpu": "30m"}}},
            ]
        status: dict = {}
        if self.maybe(0.02):
            status["nominatedNodeName"] = f"n{self.random.randrange(20):04}"
        if self.maybe(0.02):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return prototype | {"metadata": metadata, "spec": spec, "status": status}

    def roomy(self, number: int) -> dict:
        """A node that mostly has room, a name and a zone."""
        node = self.node(number)
        if self.maybe(0.7):
            node["spec"] = {}
        if self.maybe(0.8):
            node["status"] |= {
                "allocatable": {"cpu": self.pick(["2", "4", "8"]), "memory": "8Gi", "pods": self.pick(["110", "8"])}
            }
        node["metadata"].setdefault("labels", {})[HOST] = f"n{number:04}"
        return node


class Evictions(Classes):
    """Full nodes, pods of many priorities, budgets: those that come have others evicted, one after the other."""

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        self.minute = 0
        scenario = super().scenario(
            name, nodes=nodes or self.random.randint(2, 40), pods=pods or self.random.randint(5, 60)
        )
        names = [item["metadata"]["name"] for item in scenario["objects"] if item["kind"] == "Node"]
        classes = [self.prototype(place) for place in range(3)]
        for place in range(self.random.randint(2, 4) * len(names)):
            pod = self.instance(self.pick(classes), f"f{place}")
            pod["spec"]["nodeName"] = self.pick(names)
            scenario["objects"].append(pod)
        scenario["objects"] += [self.budget(9 + place) for place in range(self.pick([0, 1, 2, 3]))]
        scenario["preempt"] = True
        return scenario

    def prototype(self, place: int) -> dict:
        pod = super().prototype(place)
        amounts = {"cpu": self.pick(["500m", "700m", "1", "1500m"]), "memory": self.pick(["64Mi", "1Gi", "2Gi"])}
        pod["spec"]["containers"][0]["resources"] = {"requests": amounts}
        if self.maybe(0.6):
            pod["spec"].pop("affinity", None)
            pod["spec"].pop("topologySpreadConstraints", None)
        return pod

    def instance(self, prototype: dict, name: str) -> dict:
        """No two start at the same time: of equal candidates the original takes any."""
        pod = super().instance(prototype, name)
        self.minute += 1
        pod["spec"]["priority"] = self.random.randint(-3, 9) * 10 + (0 if name[0] in "bf" else 30)
        pod["status"]["startTime"] = (
            f"2026-01-{1 + self.minute // 1440:02}T{self.minute // 60 % 24:02}:{self.minute % 60:02}:00Z"
        )
        return pod
