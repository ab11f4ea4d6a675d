"""The differences of kube-scheduler 1.38 from 1.37."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, SCORES, VICTIMS, ReleaseChange
from kschedweb.engine.releases.changes.objects import (
    HOSTNAME,
    make_claim,
    make_configuration,
    make_container,
    make_device_class,
    make_late_storage,
    make_node,
    make_object,
    make_plugin_args,
    make_pod,
    make_pod_with_data,
    make_pod_with_device,
    make_running_pod,
    make_scenario,
    make_slice,
    make_storage_capacity,
)

SINCE = "1.38"
UNIT = "example.com/unit"


def _make_budget(selector: Json) -> Json:
    """Return a disruption budget that allows no eviction."""
    return make_object(
        "policy/v1",
        "PodDisruptionBudget",
        "all",
        "default",
        spec={"selector": selector},
        status={"disruptionsAllowed": 0},
    )


def _make_large_node(name: str, units: str) -> Json:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110", UNIT: units}
    return make_node(name, allocatable=room, capacity=room)


CHANGES = (
    ReleaseChange(
        "spread-everything",
        SINCE,
        "An empty selector of a spread constraint counts all pods",
        "A topology spread constraint with `labelSelector: {}` counts all pods of the namespace, when nodes are "
        "filtered and when they are scored. Before, it counts none, so it spreads nothing. Without a selector it "
        "still counts none.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_running_pod(make_pod("x", make_container(cpu="100m"), nodeName="a")),
            make_running_pod(make_pod("y", make_container(cpu="1"), nodeName="b", namespace="other")),
            pending=make_pod(
                "p",
                make_container(cpu="100m"),
                topologySpreadConstraints=[
                    {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
                ],
            ),
        ),
        behaviour=("spread_empty_selector",),
        plugins=("PodTopologySpread",),
        words=("didn't match pod topology spread constraints",),
    ),
    ReleaseChange(
        "protect-everything",
        SINCE,
        "An empty selector of a disruption budget protects all pods",
        "A PodDisruptionBudget with `selector: {}` protects all pods of its namespace from preemption, also pods "
        "without labels. Before, it protects none. Without a selector it still protects none.",
        VICTIMS,
        make_scenario(
            make_node("a", cpu="1"),
            make_node("b", cpu="1"),
            _make_budget({}),
            make_running_pod(make_pod("x", make_container(cpu="900m"), nodeName="a", priority=0)),
            make_running_pod(make_pod("y", make_container(cpu="900m"), nodeName="b", priority=5, namespace="other")),
            pending=make_pod("p", make_container(cpu="500m"), priority=50),
        ),
        behaviour=("budget_empty_selector",),
        plugins=("DefaultPreemption",),
    ),
    ReleaseChange(
        "victims-by-uid",
        SINCE,
        "Of victims that started together the lower UID stays",
        "Where two pods of one priority started at the same moment, or have not started, preemption keeps the one "
        "with the lower UID. Before, the order of the pods on their node decides.",
        VICTIMS,
        make_scenario(
            make_node("a", cpu="1"),
            make_running_pod(make_pod("z", make_container(cpu="400m"), nodeName="a", priority=0)),
            make_running_pod(make_pod("x", make_container(cpu="400m"), nodeName="a", priority=0)),
            pending=make_pod("p", make_container(cpu="500m"), priority=50),
        ),
        behaviour=("victim_ties_by_uid",),
        plugins=("DefaultPreemption",),
    ),
    ReleaseChange(
        "pod-level-score",
        SINCE,
        "NodeResourcesFit scores by the resources of the pod as a whole",
        "Where a pod sets `spec.resources`, NodeResourcesFit scores nodes by these, and by the resources in the pod's "
        "status. Before, it adds up those of the containers. Such pods can go to other nodes.",
        SCORES,
        make_scenario(
            make_node("a"),
            make_node("b", cpu="16"),
            make_running_pod(make_pod("x", make_container(cpu="9", memory="1Gi"), nodeName="b")),
            pending=make_pod("p", resources={"requests": {"cpu": "2", "memory": "1Gi"}}),
        ),
        behaviour=("fit_score_pod_level",),
        plugins=("NodeResourcesFit",),
    ),
    ReleaseChange(
        "exact-amounts",
        SINCE,
        "Scores of huge amounts are exact",
        "Scores of more than 2^63/100 units are exact, and the sum of requests on a node stops at 2^63-1. Before, "
        "both wrap around, so that a full node can seem empty.",
        SCORES,
        make_scenario(
            _make_large_node("a", "194467440737095517"),
            _make_large_node("b", "20000000000000000"),
            pending=make_pod("p", make_container(**{UNIT: "10000000000000000"})),
        )
        | make_plugin_args(
            "NodeResourcesFit",
            scoringStrategy={"type": "LeastAllocated", "resources": [{"name": UNIT, "weight": 1}]},
        ),
        behaviour=("saturating_amounts",),
        plugins=("NodeResourcesFit",),
    ),
    ReleaseChange(
        "exact-storage",
        SINCE,
        "Storage capacity is compared exactly",
        "The size of a claim is compared with a CSIStorageCapacity to the fraction of a byte. Before, both are "
        "rounded up to whole bytes first.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            *make_late_storage("1000000000900m", storageCapacity=True),
            make_storage_capacity("a", "1000000000100m"),
            pending=make_pod_with_data("p"),
        ),
        behaviour=("exact_storage_capacity",),
        plugins=("VolumeBinding",),
        words=("did not have enough free storage",),
    ),
    ReleaseChange(
        "security-features",
        SINCE,
        "Certificates of ML-DSA and profiles from OCI need declared features",
        "A projected pod certificate with a key of type MLDSA44, MLDSA65 or MLDSA87 needs a node that declares "
        "PodCertificateMLDSA, and a seccomp profile of type OCI one that declares SecurityProfileOCI. Before, such "
        "pods go to any node.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            pending=make_pod("p", securityContext={"seccompProfile": {"type": "OCI", "localhostProfile": "x"}}),
        ),
        behaviour=("pod_security_features",),
        plugins=("NodeDeclaredFeatures",),
        words=("didn't match Pod's required features",),
    ),
    ReleaseChange(
        "extenders-name-victims",
        SINCE,
        "Extenders may name the victims where nothing else has to go",
        "Where only an extender refuses a pod, an extender with a preemptVerb is asked about the node with an empty "
        "list of victims, and may name some. Without such an extender preemption says that it found no victims. "
        "Before, it ends with an error.",
        MESSAGE,
        None,
        behaviour=("extender_victimless_nodes",),
        plugins=("DefaultPreemption",),
        words=("expected at least one victim pod", "No preemption victims found"),
    ),
    ReleaseChange(
        "one-allocator",
        SINCE,
        "Devices are chosen by one allocator",
        "A request for all devices passes over a node with a pool that is not complete, rather than fail. The name of "
        "a capacity may leave out the driver, and a negative amount is an error. Versions are equal that differ in "
        "build metadata only. A device that is shared is not given away alone. A DeviceClass keeps its implicit "
        "extended resource if another one provides the one that it names.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_device_class(),
            make_slice("a", {"name": "gpu-0"}, slices=2),
            make_slice("b", {"name": "gpu-0"}),
            make_claim({"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("dra_unified_allocator",),
        plugins=("DynamicResources",),
        words=("asks for all devices", "gather allocation state", "cannot allocate all claims"),
    ),
    ReleaseChange(
        "fractional-ranges",
        SINCE,
        "Ranges of capacity may have fractional steps",
        "DRAFractionalCapacityRange is on: the policy of a device's capacity may have a range of fractional amounts. "
        "Before, it is rounded up to whole units.",
        NODE,
        None,
        gates=("DRAFractionalCapacityRange",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "placement-feasible",
        SINCE,
        "placementFeasible is an extension point",
        "placementFeasible is an extension point: its plugins say whether enough pods of a group found a node. "
        "Before, it is an unknown field, and the configuration is refused.",
        CONFIGURATION,
        make_configuration(plugins={"placementFeasible": {"enabled": []}}),
        fields=("placementFeasible",),
        words=("placementFeasible",),
    ),
    ReleaseChange(
        "placement-percentage",
        SINCE,
        "percentageOfPlacementsToScore is known",
        "With the feature gate TopologyAwareWorkloadScheduling, off by default, percentageOfPlacementsToScore says "
        "which share of the placements of a group is looked at. Several plugins may generate placements.",
        NODE,
        None,
        behaviour=("placement_merging",),
        fields=("percentageOfPlacementsToScore",),
        words=("percentageOfPlacementsToScore",),
    ),
    ReleaseChange(
        "group-ranks",
        SINCE,
        "A group that evicts takes the nodes that cost least",
        "With the feature gate GenericWorkload, off by default, nodes are ranked by what their victims cost before a "
        "group that looks for room filters them. DefaultPreemption runs at reserve for that. A member of a group that "
        "need not go as a whole is a victim like any pod, with its own priority. GangScheduling runs at "
        "placementFeasible, and no longer at permit.",
        NODE,
        None,
        behaviour=("gang_permit", "workload_preemption"),
        plugins=("DefaultPreemption", "GangScheduling"),
        fields=("DefaultPreemption", "GangScheduling"),
    ),
    ReleaseChange(
        "group-hierarchies",
        SINCE,
        "Groups may form a tree",
        "With the feature gates GenericWorkload, TopologyAwareWorkloadScheduling and CompositePodGroup, off by "
        "default, a group may be part of a CompositePodGroup: it waits until that exists, and is placed with all of "
        "its groups or not at all.",
        NODE,
        None,
        behaviour=("pod_group_hierarchies",),
        plugins=("TopologyPlacementGenerator",),
    ),
    ReleaseChange(
        "shrunk-nodes-wake",
        SINCE,
        "A pod looks elsewhere when its nominated node gets too small",
        "A pod that waits for room on a node is tried again when the node's CPU, memory or ephemeral storage become "
        "too small for it. Before, it waits on.",
        NODE,
        None,
        behaviour=("shrunk_node_hint",),
        plugins=("NodeResourcesFit",),
    ),
    ReleaseChange(
        "namespaces-wake",
        SINCE,
        "Namespace selectors count when pods wake others",
        "Whether a pod that came, changed or left lets others be tried again is asked with the labels of its "
        "namespace, for terms with a `namespaceSelector`. Before, it is asked without, and such pods wait on. A pod of "
        "a namespace that is not known wakes them.",
        NODE,
        None,
        behaviour=("namespace_label_hints",),
        plugins=("InterPodAffinity",),
    ),
)
