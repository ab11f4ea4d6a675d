"""Random scenarios of pods in PodGroups that use volumes; the same seed makes the same scenarios."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.cluster import ZONE
from tests.conformance.making.groups import Groups
from tests.conformance.making.volumes import DRIVER, SIZES, VolumeMaker

COUNT = 10  # volumes that are there at first
SHARED = 3  # claims in each namespace that any pod may use
WAITING_CLASSES, OTHER_CLASSES = ["wait", "wait", "made", "local", "local"], ["now", "gone", ""]
MODES = ["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]


class Storage(VolumeMaker):
    """Classes, volumes and claims of the zones that groups know. Whoever binds them is a CSI driver, or nobody."""

    def storage_class(self, name: str) -> dict:
        provisioner = {"local": "kubernetes.io/no-provisioner"}.get(name, DRIVER)
        return super().storage_class(name) | {"provisioner": provisioner}

    def topology(self) -> dict:
        values = {ZONE: "ab", "disk": ["ssd", "hdd"]}
        key = self.pick(values)
        return {"matchLabelExpressions": [{"key": key, "values": self.some(values[key], maximum=2, minimum=1)}]}

    def volume_labels(self) -> dict:
        return {ZONE: self.pick("ab")} if self.maybe(0.2) else {}

    def volume_affinity(self) -> dict:
        values = {
            ZONE: "ab",
            "disk": ["ssd", "hdd"],
            "kubernetes.io/hostname": [f"n{number:04}" for number in range(4)],
        }
        key = self.pick(values)
        requirement = {"key": key, "operator": "In", "values": self.some(values[key], maximum=2, minimum=1)}
        return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}

    def source(self, handle: str) -> dict:
        return {"csi": {"driver": DRIVER, "volumeHandle": handle}} if self.maybe(0.7) else {"local": {"path": "/mnt"}}

    def csi_node(self, name: str) -> dict:
        driver: dict[str, Any] = {"name": DRIVER, "nodeID": name, "topologyKeys": self.pick([None, [ZONE], ["disk"]])}
        if self.maybe(0.7):
            driver["allocatable"] = {"count": self.random.randint(1, 5)}
        metadata = {"name": name}
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": metadata,
            "spec": {"drivers": [driver]},
        }

    def claim_for(self, name: str, namespace: str, *, waits: bool) -> dict:
        """A claim; one that ``waits`` for a node is bound once a pod has one."""
        claim = self.claim(name, namespace)
        claim["metadata"]["uid"] = f"uid-{namespace}-{name}"
        if waits:
            claim["metadata"]["annotations"] = {}
            claim["spec"].pop("volumeName", None)
            claim["status"] = {"phase": "Pending"}
            claim["spec"] |= {"storageClassName": self.pick(self.classes), "accessModes": [self.pick(MODES)]}
            claim["spec"].setdefault("resources", {"requests": {"storage": self.pick(SIZES)}})
        return claim


class Volumes(Groups):
    """Groups whose pods use volumes: each a claim of its own, or all the same, bound already or not."""

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        scenario = super().scenario(name, nodes=nodes or self.random.randint(1, 6), pods=pods)
        self.storage = storage = Storage(self.random)
        storage.capacities, storage.reserved = self.random.sample(range(1, 24), COUNT), set()
        storage.classes = self.pick([WAITING_CLASSES, WAITING_CLASSES, ["local"], [*WAITING_CLASSES, *OTHER_CLASSES]])
        storage.bound = 0.5
        storage_objects = [storage.storage_class(class_name) for class_name in ("wait", "made", "local", "now")]
        storage_objects += [storage.volume(number) for number in range(COUNT)]
        storage_objects += [storage.csi_node(node_name) for node_name in self.names if self.maybe(0.8)]
        storage_objects += [storage.driver()] if self.maybe(0.6) else []
        storage_objects += [
            storage.capacity(number) | {"capacity": self.pick(SIZES)} for number in range(self.pick([0, 0, 2, 4]))
        ]
        self.claims: dict[tuple[str, str], dict] = {}
        running = [item for item in scenario["objects"] if item["kind"] == "Pod"]
        later_pods = [item for arrivals in scenario.get("later", []) for item in arrivals if item["kind"] == "Pod"]
        ways: dict[str, str] = {}
        for pod in [*running, *scenario["pending"], *later_pods]:
            group = pod["spec"].get("schedulingGroup", {}).get("podGroupName", pod["metadata"]["name"])
            self.use(pod, group, ways.setdefault(group, self.pick(["own", "own", "shared", "any", "none"])))
        scenario["objects"] += [*storage_objects, *self.claims.values()]
        return scenario

    def use(self, pod: dict, group: str, way: str) -> None:
        """Give the pod a claim, ``way`` as its group does."""
        if way == "none":
            return
        name = {"own": f"{pod['metadata']['name']}-data", "shared": f"{group}-data"}.get(way)
        name = name or f"c{self.random.randrange(SHARED)}"
        key = pod["metadata"]["namespace"], name
        if key not in self.claims:
            waits = "nodeName" not in pod["spec"] and (way != "any" or self.maybe(0.5))
            self.claims[key] = self.storage.claim_for(name, key[0], waits=waits)
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
