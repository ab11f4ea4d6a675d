"""Random scenarios of trees of groups, as 1.38 tries them; the same seed makes the same scenarios."""

from __future__ import annotations

from typing import Any

from tests.conformance.making.cluster import HOST, NAMESPACES, ZONE
from tests.conformance.making.groups import ODD, RACK, Domains

DEEPEST = 4  # levels of groups that kube-scheduler allows


class Trees(Domains):
    """Trees of groups beside groups and pods that are alone; something about a tree may keep it from being tried.

    In ``tight`` clusters they have to make room for themselves.
    """

    since = "1.38"
    gates = ("CompositePodGroup",)

    def scenario(self, name: str, *, nodes: int | None = None, pods: int | None = None) -> dict:
        self.composites, self.tight = 0, self.maybe(0.4)
        self.branches: list[dict] = []
        return super().scenario(name, nodes=nodes, pods=pods)

    def postpone(self, waiting: list[dict], groups: list[dict], objects: list[dict]) -> list[list[dict]]:
        """Put the groups of groups among the objects, now and then one of them only in a later round."""
        self.make_trees(groups, [*waiting, *objects])
        later = super().postpone(waiting, groups, objects)
        if later and self.branches and self.maybe(0.3):
            later[0].append(self.branches.pop(self.random.randrange(len(self.branches))))
        objects += self.branches
        return later

    def prototype(self, place: int) -> dict:
        """A class of pods of which a node takes many, mostly."""
        pod = super().prototype(place)
        if not self.tight or self.maybe(0.2):
            amounts = {"cpu": self.pick(["100m", "200m", "400m"]), "memory": "64Mi"}
            pod["spec"]["containers"][0]["resources"] = {"requests": amounts}
        return pod

    def make_trees(self, groups: list[dict], objects: list[dict]) -> None:
        """Put most of the groups into one tree or two."""
        members = [item for item in objects if item["kind"] == "Pod" and "schedulingGroup" in item["spec"]]
        pods_by_group: dict[str, list[dict]] = {}
        for pod in members:
            pods_by_group.setdefault(pod["spec"]["schedulingGroup"]["podGroupName"], []).append(pod)
        left = [group for group in groups if self.maybe(0.85)]
        while left:
            leaves = [left.pop() for _ in range(min(len(left), self.pick([1, 2, 2, 3, 4])))]
            self.make_tree(leaves, pods_by_group)

    def make_tree(self, leaves: list[dict], pods_by_group: dict[str, list[dict]]) -> None:
        namespace, priority = self.pick(NAMESPACES), self.random.randint(3 if self.tight else -1, 6) * 10
        scheduler, workload = self.pick(self.profiles), f"w{self.composites}"
        root = self.composite(namespace, priority, workload)
        branches = [(root, 1)]
        for _ in range(self.pick([0, 0, 1, 1, 2, 3])):
            above, depth = self.pick(branches)
            if depth < DEEPEST - 1 or self.maybe(ODD):
                below = self.composite(namespace, priority, workload)
                below["spec"]["parentCompositePodGroupName"] = above["metadata"]["name"]
                self.match_parent(below["spec"], above["spec"])
                branches.append((below, depth + 1))
        for leaf in leaves:
            above, _ = self.pick(branches)
            spec = leaf["spec"]
            spec["parentCompositePodGroupName"] = above["metadata"]["name"]
            spec["workloadRef"] = {"workloadName": workload, "templateName": "t"}
            spec["priority"] = priority
            self.match_parent(spec, above["spec"], "minCount")
            self.move(leaf, pods_by_group.get(leaf["metadata"]["name"], []), namespace, priority, scheduler)
            self.date(leaf)
        self.spoil(self.pick([branch for branch, _ in branches])["spec"])
        self.branches += [branch for branch, _ in branches]
        if self.maybe(ODD):
            self.branches.remove(self.pick([branch for branch, _ in branches]))

    def match_parent(self, spec: dict, above: dict, count: str = "minGroupCount") -> None:
        """Mostly let the group be such that its parent may have it."""
        if "gang" in above["schedulingPolicy"] and "basic" in spec["schedulingPolicy"] and not self.maybe(ODD):
            spec["schedulingPolicy"] = {"gang": {count: 1}}
        if "all" in above.get("disruptionMode", {}) and not self.maybe(ODD):
            spec.pop("disruptionMode", None)

    def composite(self, namespace: str, priority: int, workload: str) -> dict:
        name = f"t{self.composites}"
        self.composites += 1
        gang = {"gang": {"minGroupCount": self.pick([1, 1, 2, 2, 3])}}
        spec: dict[str, Any] = {
            "workloadRef": {"workloadName": workload, "templateName": "t"},
            "schedulingPolicy": {"basic": {}} if self.maybe(0.35) else gang,
            "priority": priority,
        }
        if self.maybe(0.4):
            spec["disruptionMode"] = self.pick([{"all": {}}, {"single": {}}])
        if self.maybe(0.5):
            key = self.pick([RACK, ZONE, ZONE, HOST])
            spec["schedulingConstraints"] = {"topology": [{"key": key}]}
        branch = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "CompositePodGroup",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": spec,
        }
        self.date(branch)
        return branch

    def date(self, group: dict) -> None:
        """Groups of a tree are tried in the order of their creation, then by name."""
        if self.maybe(0.6):
            group["metadata"]["creationTimestamp"] = f"2025-01-01T00:00:0{self.random.randint(0, 3)}Z"

    def spoil(self, spec: dict) -> None:
        """Now and then let a group of groups not fit to its tree."""
        if self.maybe(2 * ODD):
            spec |= self.pick(
                [
                    {"priority": spec["priority"] + 1},
                    {"preemptionPolicy": "Never"},
                    {"workloadRef": {"workloadName": "other", "templateName": "t"}},
                    {"parentCompositePodGroupName": "nobody"},
                ]
            )

    def move(self, leaf: dict, pods: list[dict], namespace: str, priority: int, scheduler: str) -> None:
        """Let the group and its pods be of the tree's namespace, priority and scheduler."""
        leaf["metadata"]["namespace"] = namespace
        for pod in pods:
            is_odd = pod["spec"]["priority"] != leaf["spec"].get("priority", 0) and self.maybe(0.02)
            pod["metadata"]["namespace"] = namespace
            pod["spec"] |= {"priority": priority + int(is_odd), "schedulerName": scheduler}
