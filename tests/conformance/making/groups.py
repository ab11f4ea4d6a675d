"""Random scenarios of pods that belong to PodGroups; the same seed makes the same scenarios."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.cluster import HOST, NAMESPACES, ZONE
from tests.conformance.making.configs import PREEMPTION
from tests.conformance.making.scenarios import Classes

RACK, DRIVER = "example.com/rack", "gpu.example.com"
DEVICE_CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
ODD = 0.03  # how often something about a member is not as its group has it


class Groups(Classes):
    """Groups of pods, pods without one between them, victims of both kinds, and objects that come later."""

    topology = False  # whether groups ask for nodes of one domain, which the release must have switched on
    since = "1.37"
    gates: tuple[str, ...] = ()  # further feature gates, which must be on

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        self.minute, self.profiles = 0, self.schedulers()
        self.ports: set[tuple[str, int]] = set()
        self.names = [f"n{number:04}" for number in range(nodes or self.random.randint(1, 9))]
        self.classes = [self.prototype(number) for number in range(3)]
        cluster = [self.placed(number) for number in range(len(self.names))]
        running = [self.running(f"b{number}") for number in range(self.random.randint(0, 2 * len(self.names)))]
        groups = [self.group(f"g{number}", cluster) for number in range(self.random.randint(1, 4))]
        single = [self.instance(self.pick(self.classes), f"p{number}") for number in range(self.random.randint(0, 4))]
        waiting = [pod for _, _, members in groups for pod in members] + single
        if self.maybe(0.3):
            self.random.shuffle(waiting)
        objects = [*self.around(), *cluster, *running, *(pod for _, bound, _ in groups for pod in bound)]
        scenario: dict[str, Any] = {"name": name, "objects": objects, "rounds": self.pick([1, 1, 2, 3])}
        if len(self.profiles) > 1 or self.maybe(0.3):
            scenario["config"] = self.config(self.profiles)
        later = self.postpone(waiting, [group for group, _, _ in groups], objects)
        return scenario | {"pending": waiting} | ({"later": later} if later else {})

    def around(self) -> list[dict]:
        kinds = ("Namespace", "Service", "PodDisruptionBudget")
        return [item for item in super().around() if item["kind"] in kinds]

    def postpone(self, waiting: list[dict], groups: list[dict], objects: list[dict]) -> list[list[dict]]:
        """Put the groups among ``objects``; now and then a group, members or a node come in a later round."""
        later: list[list[dict]] = [[] for _ in range(self.pick([0, 0, 0, 1, 2]))]
        # Of two at once it would be left to chance which is tried first: the one of whichever pod is taken out first.
        late = int(self.maybe(0.5)) if later else 0
        objects += groups[late:]
        if late:
            later[0] += groups[:late]
        for arrivals in later:
            for pod in self.some(waiting, 3):
                waiting.remove(pod)
                arrivals.append(pod)
            if self.maybe(0.2):
                self.names.append(f"n{len(self.names):04}")
                node = self.placed(len(self.names) - 1)
                node["status"]["images"] = []  # of which kube-scheduler would not tell the nodes that have them already
                arrivals.append(node)
        return later

    def placed(self, number: int) -> dict:
        """A node in a rack and a zone; mostly without a taint."""
        node = self.roomy(number)
        node["status"]["allocatable"] = {
            "cpu": self.pick(["1", "2", "4"]),
            "memory": self.pick(["4Gi", "8Gi"]),
            "pods": self.pick(["110", "110", "3"]),
        }
        for image in node["status"].get("images", []):
            image["sizeBytes"] = 10**8 * len(image["names"][0])  # an image has one size
        node["metadata"]["labels"] = {HOST: f"n{number:04}", "disk": self.pick(["ssd", "hdd"])}
        if self.maybe(0.9):
            node["metadata"]["labels"] |= {ZONE: self.pick("ab"), RACK: self.pick(["r1", "r2", "r3"])}
        return node

    def prototype(self, place: int) -> dict:
        """A class of pods that asks for a good part of a node."""
        pod = super().prototype(place)
        amounts = {"cpu": self.pick(["300m", "500m", "1", "1500m"]), "memory": self.pick(["64Mi", "1Gi", "2Gi"])}
        pod["spec"]["containers"][0]["resources"] = {"requests": amounts}
        for field in ("resources", "overhead", "hostNetwork", "hostUsers", "preemptionPolicy", "schedulingGates"):
            pod["spec"].pop(field, None)
        if self.maybe(0.7):
            pod["spec"].pop("affinity", None)
            pod["spec"].pop("topologySpreadConstraints", None)
        return pod

    def instance(self, prototype: dict, name: str) -> dict:
        """A pod of the class."""
        pod = super().instance(prototype, name)
        pod["spec"] = pod["spec"] | {
            "priority": self.random.randint(0, 5) * 10,
            "schedulerName": self.pick(self.profiles),
        }
        pod["metadata"] = {**pod["metadata"], "namespace": prototype["metadata"].get("namespace", "default")}
        pod["metadata"].pop("deletionTimestamp", None)
        pod["status"] = {}
        if self.maybe(0.02):
            pod["spec"]["preemptionPolicy"] = "Never"
        return pod

    def running(self, name: str) -> dict:
        pod = self.instance(self.pick(self.classes), name)
        self.bind(pod, self.pick(self.names))
        if self.maybe(0.06):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            reason = self.pick(["PreemptionByScheduler", "PreemptionByScheduler", "EvictionByEvictionAPI"])
            pod["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
        return pod

    def bind(self, pod: dict, node: str) -> None:
        """Put a pod on a node, without the ports of hosts that another pod has there.

        Each starts at its own time: of victims that are equally important kube-scheduler takes any.
        """
        self.minute += 1
        fields = [field for field in ("containers", "initContainers") if field in pod["spec"]]
        containers = [container for field in fields for container in pod["spec"][field]]
        ports = {(node, port.get("hostPort", 0)) for container in containers for port in container.get("ports", [])}
        if ports & self.ports:
            for field in fields:
                pod["spec"][field] = [
                    {k: v for k, v in container.items() if k != "ports"} for container in pod["spec"][field]
                ]
        else:
            self.ports |= ports
        pod["spec"]["nodeName"] = node
        pod["status"]["startTime"] = f"2025-01-01T{self.minute // 60:02}:{self.minute % 60:02}:00Z"

    def group(self, name: str, cluster: list[dict]) -> tuple[dict, list[dict], list[dict]]:
        """A PodGroup, its members that run, and those that wait."""
        namespace, priority = self.pick(NAMESPACES), self.random.randint(-1, 6) * 10
        member_count = self.random.randint(1, 5)
        spec: dict[str, Any] = {"schedulingPolicy": self.policy(member_count)}
        if self.maybe(0.9):
            spec["priority"] = priority
        else:
            priority = 0
        if self.maybe(0.6):
            spec["disruptionMode"] = self.pick([{"all": {}}, {"single": {}}])
        nodes = list(self.names)
        if self.topology and self.maybe(0.75):
            key = self.pick([RACK, RACK, ZONE, ZONE, HOST, "example.com/no"])
            spec["schedulingConstraints"] = {"topology": [{"key": key}]}
            domains = {node["metadata"]["labels"].get(key, "") for node in cluster}
            domain = self.pick(sorted(domains - {""}) or [""])
            nodes = [n["metadata"]["name"] for n in cluster if n["metadata"]["labels"].get(key) == domain]
        pod_group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": spec,
        }
        if self.maybe(0.1):
            pod_group["status"] = {"conditions": [self.condition()]}
        members = [self.member(name, number, namespace, priority) for number in range(member_count)]
        bound = members[: self.pick([0, 0, 0, 1, 2, 5])] if nodes else []
        if self.topology and self.maybe(0.05):
            bound, nodes = members[:1], self.names  # of several it would be left to chance which is complained of
        for pod in bound:
            self.bind(pod, self.pick(nodes))
        return pod_group, bound, self.odd_one(members[len(bound) :])

    def policy(self, member_count: int) -> dict:
        if self.maybe(0.25):
            return {"basic": {}}
        min_count = self.pick(
            [member_count, member_count, max(1, member_count - 1), max(1, member_count - 2), 1, member_count + 1]
        )
        return {"gang": {"minCount": min_count}}

    def condition(self) -> dict:
        status = self.pick(["True", "False"])
        return {
            "type": "PodGroupInitiallyScheduled",
            "status": status,
            "reason": "Scheduled" if status == "True" else "Unschedulable",
            "message": "",
            "lastTransitionTime": "2025-01-01T00:00:00Z",
        }

    def member(self, group: str, number: int, namespace: str, priority: int) -> dict:
        """Mostly all of a group are of one class."""
        prototype = self.classes[(int(group[1:]) if self.maybe(0.85) else number) % len(self.classes)]
        pod = self.instance(prototype, f"{group}-{number}")
        pod["metadata"]["namespace"] = namespace
        pod["spec"] |= {"priority": priority, "schedulingGroup": {"podGroupName": group}}
        pod["spec"]["schedulerName"] = self.profiles[int(group[1:]) % len(self.profiles)]
        pod["spec"].pop("preemptionPolicy", None)
        if self.maybe(0.04):
            pod["status"]["nominatedNodeName"] = self.pick(self.names)
        return pod

    def odd_one(self, members: list[dict]) -> list[dict]:
        """Make a group fail as a whole: one member differs from the others, or may not be tried yet."""
        for pod in members[:1]:
            if self.maybe(4 * ODD):
                odd = [
                    (pod["spec"], {"priority": pod["spec"]["priority"] + 1}),
                    (pod["spec"], {"preemptionPolicy": "Never"}),
                    (pod["spec"], {"schedulingGates": [{"name": "example.com/gate"}]}),
                    (pod["metadata"], {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
                    (pod["spec"], {"schedulerName": self.pick(self.profiles)}),
                ]
                part, change = self.pick(odd)
                part |= change
                if "deletionTimestamp" in pod["metadata"]:
                    pod["status"] = {}  # a pod that is not tried any more asks for nothing of the node it waits for
                return members
        if members and self.maybe(ODD):
            for pod in members:
                pod["spec"]["preemptionPolicy"] = "Never"
        return members


class Domains(Groups):
    """Groups that want all of their pods in one rack, zone or node."""

    topology = True


class Busy(Groups):
    """Tried as long as the queue gives something: what happened meanwhile wakes some, and others at once again.

    In later rounds nodes change, and how many pods a gang needs.
    """

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        scenario = super().scenario(name, nodes=nodes, pods=pods) | {"most": self.random.randint(8, 30)}
        if self.maybe(0.4):
            scenario.setdefault("later", [[]])[-1].extend(self.changes(scenario["objects"]))
        return scenario

    def changes(self, objects: list[dict]) -> list[dict]:
        """Some of the nodes and gangs, otherwise than before."""
        changed = []
        for item in objects:
            spec = item.get("spec", {})
            if item["kind"] == "Node" and self.maybe(0.4):
                allocatable = item["status"]["allocatable"] | {"cpu": self.pick(["1", "2", "4"])}
                status = item["status"] | {"allocatable": allocatable}
                changed.append(item | {"spec": self.pick([spec, {}, {"unschedulable": True}]), "status": status})
            elif item["kind"] == "PodGroup" and "gang" in spec["schedulingPolicy"] and self.maybe(0.4):
                min_count = self.random.randint(1, 5)
                changed.append(item | {"spec": spec | {"schedulingPolicy": {"gang": {"minCount": min_count}}}})
        return changed


class Sampled(Domains):
    """Clusters of which a part is looked at, from where the last search ended."""

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        scenario = super().scenario(name, nodes=nodes or self.random.randint(100, 160), pods=pods)
        config = scenario.setdefault("config", self.config(self.profiles))
        config["percentageOfNodesToScore"] = self.pick([0, 0, 1, 10, 30, 60, 100])
        for profile in config["profiles"]:
            other_plugins = [
                plugin_config for plugin_config in profile["pluginConfig"] if plugin_config["name"] != PREEMPTION
            ]
            profile["pluginConfig"] = [*other_plugins, {"name": PREEMPTION, "args": self.candidates()}]
        return scenario

    def prototype(self, place: int) -> dict:
        """A class of pods that asks for no part of a cluster, so that many nodes are equally good."""
        pod = super().prototype(place)
        for field in ("affinity", "topologySpreadConstraints", "nodeSelector"):
            if self.maybe(0.8):
                pod["spec"].pop(field, None)
        return pod


class Devices(Groups):
    """Groups whose pods ask for devices, each through a claim of its own."""

    sharing = 0.0  # how often all of a group share one claim

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        self.claims: list[dict] = []
        self.every: dict[str, list[str]] = {}
        self.free: dict[str, list[str]] = {}
        scenario = super().scenario(name, nodes=nodes, pods=pods)
        slices = [self.slice(node, devices) for node, devices in self.every.items() if devices]
        scenario["objects"] += [DEVICE_CLASS, *slices, *self.claims]
        return scenario

    def placed(self, number: int) -> dict:
        name = f"n{number:04}"
        self.every[name] = [f"d{place}" for place in range(self.pick([0, 1, 2, 2, 4]))]
        self.free[name] = list(self.every[name])
        return super().placed(number)

    @staticmethod
    def slice(node: str, devices: list[str]) -> dict:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"slice-{node}"},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": pool,
                "devices": [{"name": device} for device in devices],
            },
        }

    def group(self, name: str, cluster: list[dict]) -> tuple[dict, list[dict], list[dict]]:
        pod_group, bound, waiting = super().group(name, cluster)
        if self.maybe(0.25):
            return pod_group, bound, waiting
        count, shared = self.pick([1, 1, 1, 2]), self.maybe(self.sharing)
        if shared:
            self.claims.append(self.claim(f"{name}-all", pod_group["metadata"]["namespace"], count))
        for pod in [*bound, *waiting]:
            if shared:
                self.use(pod, {"resourceClaimName": f"{name}-all"})
            else:
                self.add_pod_claim(pod, count)
        return pod_group, bound, waiting

    def add_pod_claim(self, pod: dict, count: int) -> None:
        """Give the pod a claim of its own; on a node it has its devices, if there are as many."""
        metadata = pod["metadata"]
        claim = self.claim(f"{metadata['name']}-gpu", metadata["namespace"], count)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        claim["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        free = self.free.get(pod["spec"].get("nodeName", ""), [])
        if "nodeName" in pod["spec"] and len(free) < count:
            return
        if "nodeName" in pod["spec"]:
            claim["status"] = self.allocated(pod, [free.pop() for _ in range(count)])
        self.claims.append(claim)
        self.use(pod, {"resourceClaimTemplateName": "template"})
        pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}]

    @staticmethod
    def use(pod: dict, source: dict) -> None:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
        first, *other_containers = pod["spec"]["containers"]
        resources = first.get("resources", {}) | {"claims": [{"name": "gpu"}]}
        pod["spec"]["containers"] = [first | {"resources": resources}, *other_containers]

    @staticmethod
    def claim(name: str, namespace: str, count: int) -> dict:
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        }

    @staticmethod
    def allocated(pod: dict, devices: list[str]) -> dict:
        node = pod["spec"]["nodeName"]
        results = [{"request": "gpu", "driver": DRIVER, "pool": node, "device": device} for device in devices]
        fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
        user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
        return {"allocation": allocation, "reservedFor": [user]}


class Sharing(Devices):
    """Groups whose pods ask for devices, all of some through one claim."""

    sharing = 0.6


class Allocated(Sharing):
    """Groups that wait although their claims have devices: some where their pods do not fit, some of others too."""

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        scenario = super().scenario(name, nodes=nodes, pods=pods)
        for claim in self.claims:
            if "status" not in claim and self.maybe(0.6):
                self.settle(claim)
        return scenario | {"rounds": self.pick([2, 2, 3])}

    def settle(self, claim: dict) -> None:
        """Give the claim devices of some node; mostly nobody has reserved it, or one who waits."""
        count = claim["spec"]["devices"]["requests"][0]["exactly"]["count"]
        suiting = [node for node, free in self.free.items() if len(free) >= count]
        if not suiting:
            return
        node = self.pick(suiting)
        owner = claim["metadata"].get("ownerReferences", [{"name": "other", "uid": "uid-of-another"}])[0]
        user = {"metadata": owner, "spec": {"nodeName": node}}
        claim["status"] = self.allocated(user, [self.free[node].pop() for _ in range(count)])
        if self.maybe(0.6):
            claim["status"]["reservedFor"] = []
        elif self.maybe(0.2):
            claim["status"]["reservedFor"] = [{"resource": "pods", "name": "other", "uid": "uid-of-another"}]
