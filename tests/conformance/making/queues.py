"""Scenarios of queues nobody wrote: recorded ones changed in many places, and forests of cohorts drawn anew."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random

from kschedweb.engine.json_types import Json

KUEUE = "kueue.x-k8s.io/v1beta2"
NOW = "2026-01-15T12:00:00Z"
NEVER, LOWER, NEWER, ANY = "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
STRATEGIES = (
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
GATES = (
    "FlavorFungibility=false", "PrioritySortingWithinCohort=false", "PartialAdmission=false",
    "SchedulingEquivalenceHashing=false", "FairSharingPreemptWithinNominal=false",
    "FairSharingPrioritizeNonBorrowing=false", "UnadmittedWorkloadsObservability=true",
    "PrioritizePreemptorWorkloads=true", "TASProfileMixed=false", "TASBalancedPlacement=true",
    "FlavorFungibilityPreserveScanProgress=false", "RecomputeAssignmentUponPreemptionTargetsOverlap=true",
    "TASRecomputeAssignmentWithinSchedulingCycle=false", "SchedulerTimestampPreemptionBuffer=true",
)  # fmt: skip


def write_time(minute: int) -> str:
    """Return a moment before NOW: ``minute`` minutes after ten, at most 119."""
    return f"2026-01-15T{10 + minute // 60}:{minute % 60:02}:00Z"


# Changes of recorded scenarios


def mix_scenarios(random: Random, recorded: Sequence[Json], name: str) -> Json:
    """Return a recorded scenario with one to six changes."""
    scenario: Json = copy.deepcopy(random.choice(recorded))
    scenario["name"] = name
    for _ in range(random.randint(1, 6)):
        random.choice(_CHANGES)(random, scenario)
    return scenario


def list_kind(scenario: Json, kind: str) -> list[Json]:
    return [item for item in scenario["objects"] if item["kind"] == kind]


def _list_quotas(scenario: Json) -> list[Json]:
    return [
        resource
        for kind in ("ClusterQueue", "Cohort")
        for item in list_kind(scenario, kind)
        for group in item["spec"].get("resourceGroups") or ()
        for flavor in group["flavors"]
        for resource in flavor["resources"]
    ]


def _scale(quantity: str, factor: float) -> str:
    """Return a quantity times ``factor``, in whole numbers of its unit."""
    digits = quantity.rstrip("KMGTiPEmk")
    try:
        return f"{max(0, int(float(digits) * factor))}{quantity[len(digits) :]}"
    except ValueError:
        return quantity


def _change_quota(random: Random, scenario: Json) -> None:
    quotas = _list_quotas(scenario)
    if not quotas:
        return
    quota = random.choice(quotas)
    match random.randrange(4):
        case 0:
            quota["nominalQuota"] = _scale(str(quota["nominalQuota"]), random.choice([0, 0.5, 1.5, 2, 3]))
        case 1:
            quota["borrowingLimit"] = _scale(str(quota["nominalQuota"]), random.choice([0, 0.25, 0.5, 1]))
        case 2:
            quota["lendingLimit"] = _scale(str(quota["nominalQuota"]), random.choice([0, 0.25, 0.5, 1]))
        case _:
            quota.pop("borrowingLimit", None)
            quota.pop("lendingLimit", None)


def _change_policy(random: Random, scenario: Json) -> None:
    queues = list_kind(scenario, "ClusterQueue")
    if queues:
        random.choice(queues)["spec"]["preemption"] = draw_policy(random)


def _change_queue(random: Random, scenario: Json) -> None:
    queues = list_kind(scenario, "ClusterQueue")
    if not queues:
        return
    queue = random.choice(queues)
    spec, cohort_key = queue["spec"], "cohort" if queue["apiVersion"].endswith("v1beta1") else "cohortName"
    match random.randrange(5):
        case 0:
            spec["queueingStrategy"] = random.choice(["StrictFIFO", "BestEffortFIFO"])
        case 1:
            spec["flavorFungibility"] = draw_fungibility(random)
        case 2:
            spec["fairSharing"] = {"weight": random.choice(["0", "500m", "1", "2", "7"])}
        case 3:
            cohorts = sorted(
                {item["spec"].get("cohortName") or item["spec"].get("cohort") or "" for item in queues}
                | {item["metadata"]["name"] for item in list_kind(scenario, "Cohort")}
            )
            spec[cohort_key] = random.choice([*cohorts, "another"])
        case _:
            for group in spec.get("resourceGroups") or ():
                random.shuffle(group["flavors"])


def _change_workload(random: Random, scenario: Json) -> None:
    waiting = [item for item in list_kind(scenario, "Workload") if not (item.get("status") or {}).get("admission")]
    if not waiting:
        return
    workload = random.choice(waiting)
    pod_set = random.choice(workload["spec"]["podSets"])
    match random.randrange(5):
        case 0:
            workload["spec"]["priority"] = random.choice([-5, 0, 10, 15, 100])
            workload["spec"].pop("priorityClassRef", None)
        case 1:
            pod_set["count"] = max(1, pod_set.get("count", 1) + random.randint(-2, 3))
            if pod_set.get("minCount") is not None:
                pod_set["minCount"] = min(pod_set["minCount"], pod_set["count"])
        case 2:
            if all(other.get("minCount") is None for other in workload["spec"]["podSets"]):
                pod_set["minCount"] = random.randint(1, pod_set.get("count", 1))
        case 3:
            workload["metadata"]["creationTimestamp"] = write_time(random.randrange(119))
        case _:
            for container in pod_set["template"]["spec"].get("containers") or ():
                requests = container.get("resources", {}).get("requests") or {}
                for key in requests:
                    requests[key] = _scale(str(requests[key]), random.choice([0, 0.5, 1, 2]))


def _change_running(random: Random, scenario: Json) -> None:
    running = [item for item in list_kind(scenario, "Workload") if (item.get("status") or {}).get("admission")]
    if not running:
        return
    workload = random.choice(running)
    if random.random() < 0.5:
        workload["spec"]["priority"] = random.choice([-5, 0, 10, 15, 100])
        workload["spec"].pop("priorityClassRef", None)
        return
    moment = write_time(random.randrange(119))
    for condition in workload["status"].get("conditions") or ():
        condition["lastTransitionTime"] = moment


def _copy_workload(random: Random, scenario: Json) -> None:
    workloads = list_kind(scenario, "Workload")
    if not workloads:
        return
    copied = copy.deepcopy(random.choice(workloads))
    copied.pop("status", None)
    name = f"copy-{random.randrange(1000)}"
    if any(item["metadata"]["name"] == name for item in workloads):
        return
    copied["metadata"] |= {"name": name, "uid": name, "creationTimestamp": write_time(random.randrange(119))}
    if random.random() < 0.4 and scenario["cycles"] > 1:
        scenario.setdefault("events", []).append({"before": random.randint(2, scenario["cycles"]), "apply": copied})
    else:
        scenario["objects"].append(copied)


def _drop_workload(random: Random, scenario: Json) -> None:
    workloads = list_kind(scenario, "Workload")
    if not workloads:
        return
    dropped = random.choice(workloads)
    key = f"{dropped['metadata']['namespace']}/{dropped['metadata']['name']}"
    if key not in str(scenario.get("events", "")):
        scenario["objects"] = [item for item in scenario["objects"] if item is not dropped]


def _add_event(random: Random, scenario: Json) -> None:
    workloads = list_kind(scenario, "Workload")
    if not workloads or scenario["cycles"] < 2:
        return
    metadata = random.choice(workloads)["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}"
    # A workload that is gone cannot be named again.
    if key in str(scenario.get("events", "")):
        return
    kind = random.choice(["finish", "delete", "finish"])
    scenario.setdefault("events", []).append({"before": random.randint(2, scenario["cycles"]), kind: key})


def _change_options(random: Random, scenario: Json) -> None:
    options = scenario.setdefault("options", {})
    match random.randrange(4):
        case 0:
            options["fairSharing"] = not options.get("fairSharing", False)
        case 1:
            options["fairStrategies"] = random.choice(STRATEGIES)
        case 2:
            options["evictionCycles"] = random.randint(0, 2)
        case _:
            gates = [gate for gate in (options.get("gates") or "").split(",") if gate]
            drawn = random.choice(GATES)
            if drawn.partition("=")[0] not in str(gates):
                options["gates"] = ",".join([*gates, drawn])


def _change_node(random: Random, scenario: Json) -> None:
    nodes = list_kind(scenario, "Node")
    if not nodes:
        return
    node = random.choice(nodes)
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    match random.randrange(3):
        case 0:
            for key in allocatable:
                allocatable[key] = _scale(str(allocatable[key]), random.choice([0.5, 1, 2]))
        case 1:
            node.setdefault("spec", {})["unschedulable"] = True
        case _:
            node.setdefault("spec", {})["taints"] = [{"key": "extra", "value": "x", "effect": "NoSchedule"}]


def _change_topology_request(random: Random, scenario: Json) -> None:
    requests = [
        pod_set["topologyRequest"]
        for item in list_kind(scenario, "Workload")
        for pod_set in item["spec"]["podSets"]
        if pod_set.get("topologyRequest") and not (item.get("status") or {}).get("admission")
    ]
    levels = [
        level["nodeLabel"] for item in list_kind(scenario, "Topology") for level in item["spec"].get("levels") or ()
    ]
    if not requests or not levels:
        return
    request = random.choice(requests)
    for key in ("required", "preferred", "unconstrained"):
        request.pop(key, None)
    kind = random.choice(["required", "preferred", "unconstrained"])
    request[kind] = True if kind == "unconstrained" else random.choice(levels)


_CHANGES: tuple[Callable[[Random, Json], None], ...] = (
    _change_quota,
    _change_quota,
    _change_policy,
    _change_queue,
    _change_workload,
    _change_workload,
    _change_running,
    _copy_workload,
    _drop_workload,
    _add_event,
    _change_options,
    _change_node,
    _change_topology_request,
)


def draw_policy(random: Random) -> Json:
    policy: Json = {
        "withinClusterQueue": random.choice([NEVER, LOWER, NEWER]),
        "reclaimWithinCohort": random.choice([NEVER, LOWER, ANY]),
    }
    if policy["reclaimWithinCohort"] != NEVER and random.random() < 0.5:
        policy["borrowWithinCohort"] = {"policy": LOWER}
        if random.random() < 0.5:
            policy["borrowWithinCohort"]["maxPriorityThreshold"] = random.choice([0, 10, 50])
    return policy


def draw_fungibility(random: Random) -> Json:
    drawn = {
        "whenCanBorrow": random.choice(["MayStopSearch", "TryNextFlavor"]),
        "whenCanPreempt": random.choice(["MayStopSearch", "TryNextFlavor"]),
    }
    if set(drawn.values()) == {"TryNextFlavor"} and random.random() < 0.5:
        drawn["preference"] = random.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
    return drawn


# Forests drawn anew


class QueueForest:
    """Cohorts up to four levels deep, queues of one to three flavors below them, and jobs that run or wait."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.flavors = [f"f{number}" for number in range(random.randint(1, 3))]
        self.resources = ["cpu", "memory"][: random.randint(1, 2)]
        self.objects: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}]

    def scenario(self, name: str) -> Json:
        random = self.random
        for flavor in self.flavors:
            self.add("ResourceFlavor", flavor, spec={})
        cohorts = self.add_cohorts()
        queues = [self.add_queue(f"q{number}", cohorts) for number in range(random.randint(2, 6))]
        names = iter(f"w{number:02}" for number in range(100))
        minutes = random.sample(range(119), 40)
        for queue in queues:
            for _ in range(random.randint(0, 3)):
                self.add_workload(next(names), queue, minutes.pop(), runs=True)
        waiting = [next(names) for _ in range(random.randint(2, 8))]
        cycles = random.randint(3, 8)
        events = []
        for workload in waiting:
            item = self.add_workload(workload, random.choice(queues), minutes.pop(), runs=False)
            if random.random() < 0.2:
                self.objects.remove(item)
                events.append({"before": random.randint(2, cycles), "apply": item})
        options: Json = {"evictionCycles": random.choice([0, 0, 1])}
        if random.random() < 0.5:
            options |= {"fairSharing": True, "fairStrategies": random.choice(STRATEGIES)}
        if random.random() < 0.3:
            options["gates"] = random.choice(GATES)
        drawn: Json = {"name": name, "now": NOW, "objects": self.objects, "options": options, "cycles": cycles}
        return drawn | ({"events": events} if events else {})

    def add(self, kind: str, name: str, namespace: str = "", **body: object) -> Json:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        item: Json = {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, **body}
        self.objects.append(item)
        return item

    def add_cohorts(self) -> list[str]:
        random = self.random
        names = [f"c{number}" for number in range(random.randint(1, 5))]
        for place, name in enumerate(names):
            spec: Json = {}
            if place and random.random() < 0.8:
                spec["parentName"] = random.choice(names[:place])
            if random.random() < 0.5:
                spec["resourceGroups"] = self.draw_groups(has_parent="parentName" in spec)
            if random.random() < 0.4:
                spec["fairSharing"] = {"weight": random.choice(["0", "500m", "1", "3"])}
            self.add("Cohort", name, spec=spec)
        return names

    def add_queue(self, name: str, cohorts: list[str]) -> str:
        random = self.random
        spec: Json = {"namespaceSelector": {}, "preemption": draw_policy(random)}
        if random.random() < 0.9:
            spec["cohortName"] = random.choice(cohorts)
        spec["resourceGroups"] = self.draw_groups(has_parent="cohortName" in spec)
        if random.random() < 0.3:
            spec["queueingStrategy"] = "StrictFIFO"
        if random.random() < 0.5:
            spec["flavorFungibility"] = draw_fungibility(random)
        if random.random() < 0.3:
            spec["fairSharing"] = {"weight": random.choice(["0", "500m", "2"])}
        self.add("ClusterQueue", name, spec=spec)
        self.add("LocalQueue", f"lq-{name}", "ns", spec={"clusterQueue": name})
        return name

    def draw_groups(self, *, has_parent: bool) -> list[Json]:
        flavors = self.random.sample(self.flavors, self.random.randint(1, len(self.flavors)))
        listed = [
            {"name": flavor, "resources": [self.draw_quota(resource, has_parent) for resource in self.resources]}
            for flavor in flavors
        ]
        return [{"coveredResources": list(self.resources), "flavors": listed}]

    def draw_quota(self, resource: str, has_parent: bool) -> Json:
        random = self.random
        amount = random.choice([0, 2, 4, 6, 8, 10])
        unit = "Gi" if resource == "memory" else ""
        quota: Json = {"name": resource, "nominalQuota": f"{amount}{unit}"}
        if has_parent and random.random() < 0.3:
            quota["borrowingLimit"] = f"{random.choice([0, 1, 3, 5])}{unit}"
        if has_parent and random.random() < 0.3:
            quota["lendingLimit"] = f"{random.randint(0, amount)}{unit}"
        return quota

    def add_workload(self, name: str, queue: str, minute: int, *, runs: bool) -> Json:
        random = self.random
        count, cpu = random.randint(1, 4), random.choice([1, 1, 2, 3])
        requests = {"cpu": str(cpu), "memory": f"{random.randint(1, 3)}Gi"}
        requests = {resource: requests[resource] for resource in self.resources}
        container = {"name": "c", "resources": {"requests": requests}}
        pod_set: Json = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
        if not runs and count > 1 and random.random() < 0.2:
            pod_set["minCount"] = random.randint(1, count - 1)
        spec = {
            "queueName": f"lq-{queue}",
            "priority": random.choice([0, 0, 10, 20, 50]),
            "podSets": [pod_set],
        }
        item = self.add("Workload", name, "ns", spec=spec)
        item["metadata"] |= {"uid": f"{random.randrange(1000):03}-{name}", "creationTimestamp": write_time(minute)}
        if runs:
            item["status"] = self.draw_admission(queue, count, requests, write_time(random.randrange(119)))
        return item

    def draw_admission(self, queue: str, count: int, requests: dict[str, str], moment: str) -> Json:
        spec = next(item["spec"] for item in self.objects if item["metadata"]["name"] == queue)
        flavor = self.random.choice(spec["resourceGroups"][0]["flavors"])["name"]
        usage = {resource: _scale(quantity, count) for resource, quantity in requests.items()}
        assigned = {"name": "main", "count": count, "flavors": dict.fromkeys(usage, flavor), "resourceUsage": usage}
        conditions = [
            {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": moment}
            for kind in ("QuotaReserved", "Admitted")
        ]
        return {"admission": {"clusterQueue": queue, "podSetAssignments": [assigned]}, "conditions": conditions}
