"""Random pods: what they ask for, where they want to be, beside whom."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.cluster import (
    APPS,
    BETA_ZONE,
    EFFECTS,
    HOST,
    IMAGES,
    NAMESPACES,
    REGION,
    TEAMS,
    UNSCHEDULABLE,
    ZONE,
    Cluster,
)

CPU = ["0", "50m", "0.1", "250m", "1", "1500m", "2", "1e0", "3", "100000u"]
MEMORY = ["0", "64Mi", "500M", "1Gi", "1.5Gi", "2e9", "3Gi", "1500000k", "128974848000m"]


class Pods(Cluster):
    """Makes pods, pending and bound."""

    odd = 0.15  # how often an amount is written in an unusual way

    def toleration(self) -> dict:
        operator = self.pick(["", "Equal", "Exists"])
        toleration = {"operator": operator, "effect": self.pick(["", *EFFECTS])}
        if operator != "Exists" or self.maybe(0.8):
            toleration["key"] = self.pick(["k", "m", "k", "m", UNSCHEDULABLE])
        if operator != "Exists":
            toleration["value"] = self.pick(["", "v", "w"])
        if self.maybe(0.1):
            toleration["tolerationSeconds"] = 30
        return toleration

    def node_term(self) -> dict:
        term: dict[str, Any] = {}
        if self.maybe(0.85):
            term["matchExpressions"] = [self.node_expression() for _ in range(self.random.randint(1, 2))]
        if self.maybe(0.15):
            name = f"n{self.random.randrange(6):04}"
            term["matchFields"] = [
                {"key": "metadata.name", "operator": self.pick(["In", "In", "NotIn"]), "values": [name]}
            ]
        return term

    def node_expression(self) -> dict:
        if self.maybe(0.25):
            value = self.pick(["2", "6", "-1", "x", "05", "9223372036854775807"])
            return {"key": "gen", "operator": self.pick(["Gt", "Lt"]), "values": [value]}
        if self.maybe(0.04):
            return self.pick([
                {"key": "disk", "operator": "In", "values": []},
                {"key": "disk", "operator": "Like", "values": ["s"]},
                {"key": "not a key", "operator": "Exists"},
                {"key": "gen", "operator": "Gt", "values": ["1", "2"]},
                {"key": "disk", "operator": "Exists", "values": ["ssd"]},
            ])  # fmt: skip
        key, values = self.pick([("disk", ["ssd", "hdd"]), (ZONE, ["a", "b", "c"]), ("none", ["x"])])
        return self.expression(key, values)

    def pod_term(self) -> dict:
        key = self.pick([HOST, ZONE, ZONE, REGION, BETA_ZONE, "disk"])
        term: dict[str, Any] = {"topologyKey": key, "labelSelector": self.selector()}
        if self.maybe(0.25):
            term["namespaces"] = self.random.sample(NAMESPACES, self.random.randint(1, 2))
        if self.maybe(0.25):
            term["namespaceSelector"] = self.pick(
                [{}, {"matchLabels": {"env": "prod"}}, {"matchExpressions": [self.expression("env", ["prod", "dev"])]}]
            )
        if self.maybe(0.1):
            term[self.pick(["matchLabelKeys", "mismatchLabelKeys"])] = [self.pick(["app", "team"])]
        return term

    def pod_affinity(self) -> dict:
        affinity: dict[str, Any] = {}
        if self.maybe(0.4):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [
                self.pod_term() for _ in range(self.pick([1, 1, 2]))
            ]
        if self.maybe(0.5):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 100), "podAffinityTerm": self.pod_term()}
                for _ in range(self.pick([1, 2]))
            ]
        return affinity

    def node_affinity(self) -> dict:
        affinity: dict[str, Any] = {}
        if self.maybe(0.5):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [self.node_term() for _ in range(self.pick([1, 1, 2, 3]))]
            }
        if self.maybe(0.6):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 100), "preference": self.preference()}
                for _ in range(self.pick([1, 2]))
            ]
        return affinity

    def preference(self) -> dict:
        if self.maybe(0.2):
            return self.pick([{}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0001"]}]}])
        return {"matchExpressions": [self.expression(*self.pick([("disk", ["ssd"]), (ZONE, ["a", "b"])]))]}

    def affinity(self, chance: float = 0.2) -> dict:
        makers = (
            ("nodeAffinity", self.node_affinity, 0.25),
            ("podAffinity", self.pod_affinity, chance),
            ("podAntiAffinity", self.pod_affinity, chance),
        )
        return {key: make() for key, make, chance in makers if self.maybe(chance)}

    def spread(self) -> dict:
        constraint: dict[str, Any] = {
            "maxSkew": self.pick([1, 1, 2, 5]),
            "topologyKey": self.pick([ZONE, ZONE, HOST, "disk"]),
            "whenUnsatisfiable": self.pick(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self.selector(),
        }
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self.maybe(0.3):
            constraint["minDomains"] = self.random.randint(1, 4)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self.maybe(0.3):
                constraint[policy] = self.pick(["Honor", "Ignore"])
        if self.maybe(0.2):
            constraint["matchLabelKeys"] = self.some(["app", "team", "none"], 2)
        return constraint

    def spreads(self, maximum: int = 3) -> list[dict]:
        constraints = [self.spread() for _ in range(self.random.randint(1, maximum))]
        return list({(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}.values())

    def amounts(self) -> dict[str, Any]:
        amounts: dict[str, Any] = {}
        if self.maybe(0.75):
            amounts["cpu"] = self.format_amount(self.random.uniform(0, 2)) if self.maybe(self.odd) else self.pick(CPU)
        if self.maybe(0.7):
            amounts["memory"] = (
                self.format_amount(self.random.uniform(0, 3e9)) if self.maybe(self.odd) else self.pick(MEMORY)
            )
        if self.maybe(0.12):
            amounts["example.com/gpu"] = self.pick(["0", "1", "2"])
        if self.maybe(0.04):
            amounts[self.pick(["example.com/fpga", "hugepages-2Mi", "example.com/none"])] = self.pick(
                ["1", "4Mi", "1500m"]
            )
        if self.maybe(0.1):
            amounts["ephemeral-storage"] = self.pick(["500Mi", "2Gi"])
        return amounts

    def container(self, number: int) -> dict:
        resources: dict[str, Any] = {"requests": self.amounts()}
        if self.maybe(0.15):
            resources = {"limits": self.amounts()}
        if self.maybe(0.05):
            resources = {"limits": self.amounts(), "requests": self.amounts()}
        container: dict[str, Any] = {"name": f"c{number}", "image": self.pick(IMAGES), "resources": resources}
        if self.maybe(0.12):
            port: dict[str, Any] = {"containerPort": 80, "hostPort": self.pick([80, 443])}
            if self.maybe(0.4):
                port["hostIP"] = self.pick(["10.0.0.1", "0.0.0.0", "10.0.0.2", "::"])
            if self.maybe(0.3):
                port["protocol"] = self.pick(["UDP", "TCP", "SCTP"])
            container["ports"] = [port]
        if self.maybe(0.03):
            container["restartPolicyRules"] = [
                {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
            ]
        return container

    def pod(self, name: str, on: str = "") -> dict:
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": self.pick(NAMESPACES),
            "labels": {"app": self.pick(APPS), "team": self.pick(TEAMS)} if self.maybe(0.9) else {},
            "uid": f"uid-{name}",
        }
        spec: dict[str, Any] = {"containers": [self.container(number) for number in range(self.pick([1, 1, 2]))]}
        status: dict[str, Any] = {}
        if self.maybe(0.7):
            spec["priority"] = self.pick([0, 5, 10, 100, -10] if on else [0, 10, 100, 1000])
        if on:
            spec["nodeName"] = on
            if self.maybe(0.9):
                status["startTime"] = f"2026-01-01T0{self.random.randint(0, 4)}:00:00Z"
            if self.maybe(0.08):
                metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.fill(spec)
        if self.maybe(0.15):
            self.run(spec, status)
        if affinity := self.affinity():
            spec["affinity"] = affinity
        if self.maybe(0.25):
            metadata["ownerReferences"] = [self.owner()]
        if not on:
            self.pend(metadata, spec, status)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}

    def owner(self) -> dict:
        kind = self.pick(["ReplicaSet", "StatefulSet", "ReplicationController", "Job"])
        version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
        return {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": True}

    def pend(self, metadata: dict, spec: dict, status: dict) -> None:
        """Add the fields that only a waiting pod has."""
        if self.maybe(0.08):
            status["nominatedNodeName"] = f"n{self.random.randrange(8):04}"
        if self.maybe(0.04):
            spec["schedulingGates"] = [{"name": "example.com/gate"}]
        if self.maybe(0.03):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if self.maybe(0.02):
            spec["nodeName"] = f"n{self.random.randrange(8):04}"

    def fill(self, spec: dict[str, Any]) -> None:
        if self.maybe(0.2):
            spec["initContainers"] = [self.container(9 - number) for number in range(self.pick([1, 1, 2, 3]))]
            for container in spec["initContainers"]:
                if self.maybe(0.4):
                    container["restartPolicy"] = "Always"
        if self.maybe(0.3):
            spec["tolerations"] = [self.toleration() for _ in range(self.pick([1, 2]))]
        if self.maybe(0.12):
            spec["nodeSelector"] = self.pick([{}, {"disk": "ssd"}, {ZONE: "a"}, {"gen": "5", "disk": "hdd"}])
        if self.maybe(0.3):
            spec["topologySpreadConstraints"] = self.spreads()
        self.fill_further(spec)

    def fill_further(self, spec: dict[str, Any]) -> None:
        if self.maybe(0.05):
            spec["preemptionPolicy"] = self.pick(["Never", "PreemptLowerPriority"])
        if self.maybe(0.08):
            # Of an amount that the API server would write anew, such as 0.3Gi for the pod, kube-scheduler would add the
            # overhead each time it looks; so a pod has one of the two.
            spec["overhead"] = self.pick([{"cpu": "250m", "memory": "120Mi"}, {"cpu": "10m"}, {"example.com/gpu": "1"}])
        elif self.maybe(0.08):
            spec["resources"] = {"requests": self.amounts()} if self.maybe(0.7) else {"limits": self.amounts()}
        if self.maybe(0.05):
            spec["hostNetwork"] = True
            if self.maybe(0.5):
                spec["hostUsers"] = self.maybe(0.3)

    def run(self, spec: dict[str, Any], status: dict[str, Any]) -> None:
        """Add the kubelet's report: containers in the middle of a resize."""
        for field, key in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            status[key] = [self.reported(container["name"]) for container in spec.get(field, []) if self.maybe(0.8)]
        if self.maybe(0.3):
            reason = self.pick(["Infeasible", "Deferred"])
            status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
        if "resources" in spec and self.maybe(0.6):
            status["resources"] = {"requests": self.amounts()}
            status["allocatedResources"] = self.amounts()

    def reported(self, name: str) -> dict:
        status: dict[str, Any] = {"name": name, "image": "i", "imageID": "i", "ready": True, "restartCount": 0}
        if self.maybe(0.8):
            status["resources"] = {"requests": self.amounts()}
        if self.maybe(0.7):
            status["allocatedResources"] = self.amounts()
        return status
