"""Random scenarios over resource claims and extended resources; the same seed makes the same scenarios.

Few have ResourceSlices: without any, kube-scheduler's search for devices always fails, so that its answer shows on
which nodes it searched.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.making.chance import Chance

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES, NAMESPACES = ["a", "b", "c"], ["default", "default", "default", "prod"]
CLASSES = ["gpu", "nic", "fpga", "tpu"]
GPU, NIC, PLAIN = "example.com/gpu", "example.com/nic", "example.com/plain"
IMPLICIT = "deviceclass.resource.kubernetes.io/"
EXTENDED_CLAIM = {"resource.kubernetes.io/extended-resource-claim": "true"}
CONDITIONS, FAILURES = ["Attached", "Ready"], ["Broken"]
LONG_AGO = "2026-01-01T00:00:00Z"
CLAIMS = 6


class ClaimMaker(Chance):
    """Makes one scenario after the other from ``random``."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.allocated, self.dated = 0.5, 0.2

    def scenario(self, name: str) -> dict:
        self.begin()
        names = [f"n{number}" for number in range(self.random.randint(1, 7))]
        objects = [self.node(node) for node in names]
        objects += [self.device_class(item) for item in self.some(CLASSES, maximum=4, minimum=1)]
        objects += [self.claim(f"c{number}", "default") for number in range(CLAIMS)]
        objects += [self.claim(f"c{number}", "prod") for number in range(CLAIMS) if self.maybe(0.6)]
        objects += [self.resource_slice(node) for node in names if self.maybe(0.8)] if self.maybe(0.15) else []
        for number in range(self.random.randint(0, 2 * len(names))):
            objects += self.pod(f"b{number}", on=self.pick(names))
        pods = [self.pod(f"p{number}") for number in range(self.random.randint(1, 4))]
        return {
            "name": name,
            "config": self.config(),
            "objects": objects + [claim for _, *claims in pods for claim in claims],
            "pending": [pod for pod, *_ in pods],
            "mode": self.pick(["each", "sequence"]),
        }

    def begin(self) -> None:
        """Draw the traits that set one scenario apart from another."""
        self.allocated = self.pick([1.0, 0.95, 0.95, 0.7, 0.3])

    def config(self) -> dict:
        plugins: dict[str, Any] = {}
        if self.maybe(0.15):
            disabled = self.pick(["DynamicResources", "NodeResourcesFit", "TaintToleration"])
            plugins["multiPoint"] = {"disabled": [{"name": disabled}]}
        elif self.maybe(0.1):
            plugins["filter"] = {"disabled": [{"name": "DynamicResources"}]}
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": 1,
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
        }

    def node(self, name: str) -> dict:
        labels = {HOST: name} | ({ZONE: self.pick(ZONES)} if self.maybe(0.85) else {})
        allocatable = {"cpu": self.pick(["4", "4", "1"]), "memory": "8Gi", "pods": self.pick(["110", "110", "2"])}
        for resource in (GPU, NIC, PLAIN, f"{IMPLICIT}gpu"):
            if self.maybe(0.4):
                allocatable[resource] = self.pick(["0", "1", "4"])
        taints = [{"key": "k", "effect": "NoSchedule"}] if self.maybe(0.15) else []
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {"allocatable": allocatable},
        }

    def device_class(self, name: str) -> dict:
        # Only one of those with the same resource keeps its implicit one for sure: the first that is looked at.
        extended = {"gpu": "", "nic": NIC, "fpga": GPU, "tpu": GPU}[name]
        created = {"fpga": self.pick([LONG_AGO, "2025-01-01T00:00:00Z"]), "tpu": LONG_AGO}.get(name, LONG_AGO)
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"extendedResourceName": extended} if extended and self.maybe(0.8) else {},
        }

    def resource_slice(self, node: str) -> dict:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"dev{number}"} for number in range(self.random.randint(1, 3))]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"slice-{node}"},
            "spec": {"driver": "d.example.com", "nodeName": node, "pool": pool, "devices": devices},
        }

    def claim(self, name: str, namespace: str) -> dict:
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
        if self.maybe(0.04):
            metadata |= {"deletionTimestamp": LONG_AGO, "finalizers": ["resource.kubernetes.io/delete-protection"]}
        requests = [self.request(f"r{number}") for number in range(self.pick([0, 1, 1, 1, 2]))]
        devices: dict[str, Any] = {"requests": requests} if requests else {}
        if self.maybe(0.05):
            devices["constraints"] = [{"matchAttribute": "example.com/model"}]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": {"devices": devices},
            "status": self.allocation(requests) if self.maybe(self.allocated) else {},
        }

    def request(self, name: str) -> dict:
        if self.maybe(0.02):
            return {"name": name}
        if self.maybe(0.4):
            alternatives = [
                {"name": f"s{number}", "deviceClassName": self.a_class(), "allocationMode": "ExactCount", "count": 1}
                for number in range(self.random.randint(1, 3))
            ]
            return {"name": name, "firstAvailable": alternatives}
        mode = self.pick([{"allocationMode": "ExactCount", "count": 1}, {"allocationMode": "All"}])
        return {"name": name, "exactly": {"deviceClassName": self.a_class(), **mode}}

    def a_class(self) -> str:
        return self.pick(CLASSES) if self.maybe(0.97) else self.pick(["none", ""])

    def allocation(self, requests: list[dict]) -> dict:
        results = [self.result(request) for request in requests]
        allocation: dict[str, Any] = {"devices": {"results": results}}
        if self.maybe(0.75):
            allocation["nodeSelector"] = self.selector()
        if self.maybe(self.dated):
            allocation["allocationTimestamp"] = LONG_AGO
        reserved = [
            {"resource": "pods", "name": pod, "uid": f"uid-{pod}"}
            for pod in self.some(["p0", "p1", "b0", "x"], maximum=3, minimum=0)
        ]
        status: dict[str, Any] = {"allocation": allocation, "reservedFor": reserved}
        devices = [self.device_status(result) for result in results if "bindingConditions" in result]
        return status | ({"devices": devices} if devices and self.maybe(0.8) else {})

    def result(self, request: dict) -> dict:
        name = request["name"]
        if "firstAvailable" in request:
            name = f"{name}/{self.pick(request['firstAvailable'])['name']}"
        result: dict[str, Any] = {"request": name, "driver": "d.example.com", "pool": "n0", "device": f"dev-{name[:2]}"}
        if self.maybe(0.15):
            result["bindingConditions"] = self.some(CONDITIONS, maximum=2, minimum=1)
            result["bindingFailureConditions"] = self.some(FAILURES, maximum=1, minimum=0)
        return result

    def device_status(self, result: dict) -> dict:
        kinds = [*CONDITIONS, *FAILURES] if self.maybe(0.3) else [*CONDITIONS]
        conditions = [
            {"type": kind, "status": self.pick(["True", "True", "True", "False"]), "lastTransitionTime": LONG_AGO}
            for kind in kinds
        ]
        device = result["device"] if self.maybe(0.95) else "another"
        return {"driver": result["driver"], "pool": result["pool"], "device": device, "conditions": conditions}

    def selector(self) -> dict:
        if self.maybe(0.04):
            return self.pick([{"nodeSelectorTerms": []}, {"nodeSelectorTerms": [{}]}])
        return {"nodeSelectorTerms": [self.term() for _ in range(self.pick([1, 1, 1, 2]))]}

    def term(self) -> dict:
        if self.maybe(0.3):
            values = [self.pick(["n0", "n1", "n2", "n3"])] if self.maybe(0.97) else ["n0", "n1"]
            operator = self.pick(["In", "In", "In", "NotIn"]) if self.maybe(0.98) else "Exists"
            return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]}
        if self.maybe(0.05):
            wrong = [("bad key", "In", ["a"]), (ZONE, "Wrong", ["a"]), (ZONE, "In", []), (ZONE, "Gt", ["a"])]
            key, operator, values = self.pick(wrong)
            return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
        requirement: dict[str, Any] = {"key": ZONE, "operator": self.pick(["In", "In", "NotIn", "Exists"])}
        if requirement["operator"] != "Exists":
            requirement["values"] = self.some(ZONES, maximum=2, minimum=1)
        return {"matchExpressions": [requirement]}

    def pod(self, name: str, on: str = "") -> list[dict]:
        """A pod, and the claims made for it."""
        namespace = self.pick(NAMESPACES)
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        claims, statuses, new_claims = [], [], []
        for number in range(self.pick([0, 1, 1, 1, 2, 3])):
            claim, status, *new = self.pod_claim(f"d{number}", metadata)
            claims.append(claim)
            statuses += status
            new_claims += new
        spec: dict[str, Any] = {"containers": [self.container("c")], "resourceClaims": claims}
        if self.maybe(0.15):
            spec["initContainers"] = [self.container("i") | self.pick([{}, {"restartPolicy": "Always"}])]
        spec |= self.urgency()
        if on:
            spec["nodeName"] = on
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        if self.maybe(0.06):
            new_claims.append(self.earlier_claim(metadata))
        return [pod | ({"status": {"resourceClaimStatuses": statuses}} if statuses else {}), *new_claims]

    def urgency(self) -> dict:
        # Whether devices can be chosen is not seen where it is only tried for preemption.
        return {"preemptionPolicy": "Never"}

    def container(self, name: str) -> dict:
        requests = {"cpu": self.pick(["100m", "100m", "1", "2"])}
        for resource, chance in self.extended():
            if self.maybe(chance):
                requests[resource] = self.pick(["0", "1", "1", "2"])
        return {"name": name, "image": "i", "resources": {"requests": requests, "limits": requests}}

    def extended(self) -> list[tuple[str, float]]:
        """The resources that a container may ask for, and how often it does."""
        return [(GPU, 0.12), (NIC, 0.1), (PLAIN, 0.08), (f"{IMPLICIT}gpu", 0.06)]

    def pod_claim(self, entry: str, pod: dict[str, Any]) -> list[Any]:
        """An entry of the pod's claims, its status if any, and the claims made for it."""
        if self.maybe(0.02):
            return [{"name": entry}, []]
        if self.maybe(0.7):
            name = f"c{self.random.randrange(CLAIMS)}" if self.maybe(0.97) else "none"
            return [{"name": entry, "resourceClaimName": name}, []]
        claim = {"name": entry, "resourceClaimTemplateName": "template"}
        if self.maybe(0.06):
            return [claim, []]
        if self.maybe(0.06):
            return [claim, [{"name": entry}]]
        name = f"{pod['name']}-{entry}"
        new_claim = self.claim(name, pod["namespace"])
        owner = pod["uid"] if self.maybe(0.95) else "uid-of-another"
        reference = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": owner}
        new_claim["metadata"]["ownerReferences"] = [reference | ({"controller": True} if self.maybe(0.95) else {})]
        return [claim, [{"name": entry, "resourceClaimName": name}], *([new_claim] if self.maybe(0.95) else [])]

    def earlier_claim(self, pod: dict[str, Any]) -> dict:
        """Make the claim that an earlier attempt to bind the pod left behind for its extended resources."""
        claim = self.claim(f"{pod['name']}-extended-resources-x", pod["namespace"])
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"], "controller": True}
        claim["metadata"] |= {"annotations": EXTENDED_CLAIM, "ownerReferences": [owner]}
        return claim


class SettledClaimMaker(ClaimMaker):
    """All claims have their devices, and nothing hangs on the clock: nothing is outside the simulation."""

    def begin(self) -> None:
        self.allocated, self.dated = 1.0, 0.0

    def device_class(self, name: str) -> dict:
        return super().device_class(name) | {"spec": {}}

    def extended(self) -> list[tuple[str, float]]:
        return [(GPU, 0.12), (PLAIN, 0.08)]

    def urgency(self) -> dict:
        policy = {"preemptionPolicy": "Never"} if self.maybe(0.1) else {}
        return policy | {"priority": self.pick([0, 0, 5, 10])}
