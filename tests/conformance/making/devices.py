"""Random scenarios in which devices are to be chosen; the same seed makes the same scenarios."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.making.chance import Chance
from tests.conformance.making.claims import HOST, IMPLICIT, LONG_AGO, ZONE, ZONES

GPU, NIC = "example.com/gpu", "example.com/nic"
DRIVERS = ["gpu.example.com", "nic.example.com"]
CLASSES = ["gpu", "nic", "any", "fast"]
DOMAIN = "example.com"
ATTRIBUTES = [
    f"{DOMAIN}/model",
    "gpu.example.com/model",
    f"{DOMAIN}/socket",
    f"{DOMAIN}/firmware",
    "gpu.example.com/ok",
]
TAINTED = ["NoSchedule", "NoSchedule", "NoExecute", "None"]


class DeviceMaker(Chance):
    """Makes one scenario after the other from ``random``."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.shared = self.counters = self.tainted = self.binding = self.broken = self.extended = 0.0
        self.scale = 1
        self.devices: list[tuple[dict, dict]] = []

    def scenario(self, name: str) -> dict:
        self.begin()
        names = [f"n{number}" for number in range(self.random.randint(1, 5))]
        slices = self.slices(names)
        self.devices = [(item["spec"], device) for item in slices for device in item["spec"].get("devices", [])]
        claims = [self.claim(f"c{number}") for number in range(self.random.randint(2, 5))]
        used = [self.used(f"u{number}") for number in range(self.pick([0, 0, 1, 2, 4]))]
        pods = [self.pod(f"p{number}", claims) for number in range(self.random.randint(1, 4))]
        objects = [*(self.node(node) for node in names), *map(self.device_class, CLASSES), *slices, *claims, *used]
        self.random.shuffle(objects)
        return {
            "name": name,
            "config": self.config(),
            "objects": objects,
            "pending": pods,
            "mode": self.pick(["each", "sequence"]),
        }

    def begin(self) -> None:
        """Draw the traits that set one scenario apart from another."""
        self.shared = self.pick([0.0, 0.0, 0.3, 0.7])
        self.counters = self.pick([0.0, 0.0, 0.0, 0.5, 1.0])
        self.tainted = self.pick([0.0, 0.0, 0.2, 0.5])
        self.binding = self.pick([0.0, 0.0, 0.0, 0.3])
        self.broken = self.pick([0.0, 0.0, 0.0, 0.1])
        self.extended = self.pick([0.0, 0.0, 0.4])
        self.scale = self.pick([2, 3, 4])

    def config(self) -> dict:
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": 1,
            "profiles": [{"schedulerName": "default-scheduler"}],
        }

    def node(self, name: str) -> dict:
        labels = {HOST: name} | ({ZONE: self.pick(ZONES)} if self.maybe(0.8) else {})
        allocatable = {"cpu": self.pick(["4", "4", "1"]), "memory": "8Gi", "pods": "110"}
        for resource in (GPU, NIC, f"{IMPLICIT}gpu"):
            if self.maybe(0.2):
                allocatable[resource] = self.pick(["0", "1", "4"])
        metadata = {"name": name, "labels": labels}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}

    # Devices.

    def slices(self, nodes: list[str]) -> list[dict]:
        slices = []
        for node in nodes:
            for driver in self.some(DRIVERS, maximum=2, minimum=0 if self.maybe(0.2) else 1):
                slices += self.pool(driver, node, {"nodeName": node})
        for number in range(self.pick([0, 0, 1, 2])):
            slices += self.pool(self.pick(DRIVERS), f"net{number}", self.wide(nodes))
        return slices

    def wide(self, nodes: list[str]) -> dict:
        """For several nodes."""
        if self.maybe(0.3):
            return {"perDeviceNodeSelection": True}
        return self.pick([{"allNodes": True}, {"nodeSelector": self.node_selector(nodes)}])

    def node_selector(self, nodes: list[str]) -> dict:
        if self.maybe(0.3):
            field = {"key": "metadata.name", "operator": "In", "values": [self.pick(nodes)]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        zones = {"key": ZONE, "operator": self.pick(["In", "NotIn"]), "values": self.some(ZONES, maximum=2, minimum=1)}
        terms = [{"matchExpressions": [zones]}]
        if self.maybe(0.1):
            terms.append({"matchExpressions": [{"key": HOST, "operator": "In", "values": [self.pick(nodes)]}]})
        return {"nodeSelectorTerms": terms}

    def pool(self, driver: str, name: str, node_scope: dict) -> list[dict]:
        """The slices of a pool; now and then of two generations, or not all of them."""
        generation = self.pick([1, 1, 2])
        counting = self.maybe(self.counters)
        parts = self.pick([1, 1, 1, 2, 3])
        bodies: list[dict] = [{"devices": self.device_list(part, counting, node_scope)} for part in range(parts)]
        if counting:
            bodies.append({"sharedCounters": self.counter_sets()})
        slices = []
        count = len(bodies) + (self.pick([-1, 1]) if self.maybe(self.broken / 2) else 0)
        for number, body in enumerate(bodies):
            pool = {"name": name, "generation": generation, "resourceSliceCount": count}
            if self.maybe(self.broken):
                pool["generation"] += self.pick([-1, 1])
            if self.maybe(self.broken):
                continue
            slice_scope = (
                node_scope
                if node_scope != {"perDeviceNodeSelection": True} or "devices" in body
                else {"allNodes": True}
            )
            slices.append(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"{self.pick('abcxyz')}-{driver[:3]}-{name}-{number}"},
                    "spec": {"driver": driver, "pool": pool, **slice_scope, **body},
                }
            )
        return slices

    def counter_sets(self) -> list[dict]:
        amounts = {"mem": {"value": self.pick(["4", "8", "10"])}, "cores": {"value": self.pick(["2", "7"])}}
        return [{"name": name, "counters": amounts} for name in ["set0", "set1"]]

    def device_list(self, part: int, counting: bool, node_scope: dict) -> list[dict]:
        number = self.random.randint(0 if self.maybe(0.1) else 1, self.scale)
        names = [f"dev{part}{number}" for number in range(number)]
        if len(names) > 1 and self.maybe(self.broken):
            names[0] = names[1]
        return [self.device(name, counting, node_scope) for name in names]

    def device(self, name: str, counting: bool, node_scope: dict) -> dict:
        device: dict[str, Any] = {"name": name, "attributes": self.attributes()}
        if self.maybe(self.shared):
            device["allowMultipleAllocations"] = self.pick([True, True, False])
        if self.maybe(0.3) or "allowMultipleAllocations" in device:
            device["capacity"] = {
                self.pick(["memory", f"{DOMAIN}/memory"]): self.capacity(device.get("allowMultipleAllocations", False))
            }
        if counting and self.maybe(0.8):
            device["consumesCounters"] = [
                {"counterSet": name, "counters": {self.pick(["mem", "cores"]): {"value": self.pick(["1", "2", "3"])}}}
                for name in self.some(["set0", "set1"], maximum=2, minimum=1)
            ]
            if self.maybe(self.broken):
                device["consumesCounters"][0]["counterSet"] = "none"
        if self.maybe(self.tainted):
            device["taints"] = [
                {"key": self.pick(["k", "l"]), "value": self.pick(["", "v"]), "effect": self.pick(TAINTED)}
                for _ in range(self.pick([1, 1, 2]))
            ]
        if self.maybe(self.binding):
            device["bindingConditions"] = self.some(["Ready", "Attached"], maximum=2, minimum=1)
            device["bindsToNode"] = self.maybe(0.5)
        if "perDeviceNodeSelection" in node_scope:
            nodes = [f"n{number}" for number in range(5)]
            device |= self.pick(
                [{"nodeName": self.pick(nodes)}, {"allNodes": True}, {"nodeSelector": self.node_selector(nodes)}]
            )
        return device

    def attributes(self) -> dict:
        attributes: dict[str, Any] = {}
        if self.maybe(0.9):
            attributes["model"] = {"string": self.pick(["a", "b"])}
        if self.maybe(0.7):
            attributes[f"{DOMAIN}/socket"] = {"int": self.pick([0, 0, 1])}
        if self.maybe(0.3):
            attributes[f"{DOMAIN}/model"] = {"string": self.pick(["a", "b"])}
        if self.maybe(0.3):
            attributes[f"{DOMAIN}/firmware"] = {"version": self.pick(["1.0.0", "1.2.0"])}
        if self.maybe(0.4):
            attributes["ok"] = {"bool": self.maybe(0.6)}
        return attributes

    def capacity(self, shareable: bool) -> dict:
        value = self.pick(["8Gi", "16Gi"])
        if not shareable or self.maybe(0.3):
            return {"value": value}
        policy: dict[str, Any] = {"default": self.pick(["1Gi", "2Gi", "4Gi"])}
        kind = self.pick(["", "range", "values"])
        if kind == "range":
            policy["validRange"] = {"min": "1Gi"}
            if self.maybe(0.5):
                policy["validRange"]["max"] = self.pick(["4Gi", "8Gi"])
            if self.maybe(0.5):
                policy["validRange"]["step"] = "1Gi"
        elif kind == "values":
            policy["validValues"] = ["1Gi", "2Gi", "4Gi", *(["8Gi"] if self.maybe(0.5) else [])]
        return {"value": value, "requestPolicy": policy}

    def device_class(self, name: str) -> dict:
        spec: dict[str, Any] = {}
        if name in ("gpu", "nic"):
            spec["selectors"] = [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]
        if name == "fast":
            spec["selectors"] = [self.selector() for _ in range(self.pick([0, 1]))]
        if self.maybe(0.7) and name in ("gpu", "nic"):
            spec["extendedResourceName"] = {"gpu": GPU, "nic": NIC}[name]
        metadata = {"name": name, "creationTimestamp": LONG_AGO}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": metadata, "spec": spec}

    def selector(self) -> dict:
        return {"cel": {"expression": self.pick(self.expressions())}}

    def expressions(self) -> list[str]:
        return [
            'device.driver == "gpu.example.com"',
            'device.attributes["gpu.example.com"].model == "a"',
            f'device.attributes["{DOMAIN}"].socket == 0',
            f'device.attributes["{DOMAIN}"].?socket.orValue(1) == 1',
            f'"firmware" in device.attributes["{DOMAIN}"]',
            f'device.capacity["{DOMAIN}"].memory.compareTo(quantity("10Gi")) >= 0',
            "device.allowMultipleAllocations == true",
            'device.driver.startsWith("nic")',
            "true",
            "true",
        ]

    # Claims.

    def claim(self, name: str) -> dict:
        requests = [self.request(f"r{number}") for number in range(self.pick([0, 1, 1, 1, 1, 2, 2, 3]))]
        devices: dict[str, Any] = {"requests": requests} if requests else {}
        if requests and self.maybe(0.25):
            devices["constraints"] = [self.constraint(requests) for _ in range(self.pick([1, 1, 2]))]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"devices": devices},
        }

    def constraint(self, requests: list[dict]) -> dict:
        names = [request["name"] for request in requests]
        names += [
            f"{item['name']}/{alternative['name']}"
            for item in requests
            for alternative in item.get("firstAvailable", [])
        ]
        chosen = {} if self.maybe(0.5) else {"requests": self.some(names, maximum=3, minimum=1)}
        kind = "matchAttribute" if self.maybe(0.75) else "distinctAttribute"
        return {**chosen, kind: self.pick(ATTRIBUTES)}

    def request(self, name: str) -> dict:
        if self.maybe(0.3):
            alternatives = [
                self.device_request() | {"name": f"s{number}"} for number in range(self.random.randint(1, 4))
            ]
            return {"name": name, "firstAvailable": alternatives}
        exactly = self.device_request()
        if self.maybe(0.1):
            exactly["adminAccess"] = self.maybe(0.8)
        return {"name": name, "exactly": exactly}

    def device_request(self) -> dict:
        request: dict[str, Any] = {"deviceClassName": self.pick([*CLASSES, "any", "any"])}
        if self.maybe(0.15):
            request["allocationMode"] = "All"
        else:
            request |= {"allocationMode": "ExactCount", "count": self.pick([1, 1, 1, 1, 2, 2])}
        if self.maybe(0.2):
            request["selectors"] = [self.selector() for _ in range(self.pick([1, 1, 2]))]
        if self.maybe(self.tainted):
            request["tolerations"] = [
                self.pick(
                    [
                        {"key": "k", "operator": "Exists"},
                        {"operator": "Exists"},
                        {"key": "k", "operator": "Equal", "value": self.pick(["", "v"])},
                        {"key": "l", "operator": "Exists", "effect": "NoSchedule"},
                    ]
                )
            ]
        if self.maybe(self.shared * 0.7):
            name = self.pick(["memory", "memory", f"{DOMAIN}/memory"])
            request["capacity"] = {"requests": {name: self.pick(["1Gi", "1500Mi", "3Gi", "5Gi", "9Gi"])}}
        return request

    def used(self, name: str) -> dict:
        """A claim that has devices."""
        claim = self.claim(name)
        results = []
        for spec, device in self.some(self.devices, maximum=4, minimum=0):
            result = {"request": "r0", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
            if self.maybe(0.15):
                result["adminAccess"] = self.maybe(0.8)
            if device.get("allowMultipleAllocations") and self.maybe(0.9):
                result["shareID"] = f"{self.random.randrange(16**8):08x}-0000-4000-8000-000000000000"
                if self.maybe(0.9):
                    result["consumedCapacity"] = {
                        name: self.pick(["1Gi", "4Gi"]) for name in device.get("capacity", {})
                    }
            results.append(result)
        allocation: dict[str, Any] = {"devices": {"results": results}}
        reserved = [{"resource": "pods", "name": "other", "uid": "uid-other"}]
        return claim | {"status": {"allocation": allocation, "reservedFor": reserved}}

    # Pods.

    def pod(self, name: str, claims: list[dict]) -> dict:
        names = [
            claim["metadata"]["name"]
            for claim in self.some(claims, maximum=self.pick([1, 1, 2]), minimum=0 if self.extended else 1)
        ]
        requests = {"cpu": self.pick(["100m", "1", "2"])}
        spec: dict[str, Any] = {
            "containers": [self.container(f"c{number}", requests) for number in range(self.pick([1, 1, 2]))],
            "resourceClaims": [{"name": f"d{n}", "resourceClaimName": claim} for n, claim in enumerate(names)],
            "preemptionPolicy": "Never",
        }
        if self.maybe(self.extended):
            spec["initContainers"] = [
                self.container(f"i{number}", requests) | self.pick([{}, {"restartPolicy": "Always"}])
                for number in range(self.pick([1, 2]))
            ]
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def container(self, name: str, requests: dict) -> dict:
        amounts = dict(requests)
        for resource in (GPU, NIC, f"{IMPLICIT}gpu", f"{IMPLICIT}any"):
            if self.maybe(self.extended / 2):
                amounts[resource] = self.pick(["0", "1", "1", "2"])
        return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": amounts}}


class TaintRuleMaker(DeviceMaker):
    """Scenarios with DeviceTaintRules, which kube-scheduler reads since 1.37."""

    def scenario(self, name: str) -> dict:
        scenario = super().scenario(name)
        scenario["objects"] += [self.rule(f"rule{number}") for number in range(self.pick([1, 1, 2]))]
        return scenario

    def rule(self, name: str) -> dict:
        effect = self.pick(["NoSchedule", "NoExecute", "None"])
        spec: dict[str, Any] = {
            "taint": {"key": self.pick(["k", "l"]), "value": self.pick(["", "v"]), "effect": effect}
        }
        if self.maybe(0.9):
            slice_spec, device = self.pick(self.devices) if self.devices else ({}, {})
            selector = {"driver": slice_spec.get("driver"), "pool": slice_spec.get("pool", {}).get("name")}
            selector["device"] = device.get("name")
            spec["deviceSelector"] = {key: value for key, value in selector.items() if value and self.maybe(0.6)}
        metadata = {"name": name}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": metadata, "spec": spec}
