"""The differences of kube-scheduler 1.36 from 1.35."""

from __future__ import annotations

from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, ReleaseChange
from kschedweb.engine.releases.changes.objects import (
    DISTINCT_DEVICES,
    exact_request,
    make_claim,
    make_configuration,
    make_container,
    make_device_class,
    make_node,
    make_plugin_args,
    make_pod,
    make_pod_with_device,
    make_running_pod,
    make_scenario,
    make_shared_device,
    make_slice,
)

SINCE = "1.36"
DEVICES = ("DynamicResources",)


def _make_partition(name: str, memory: str) -> dict[str, object]:
    counters = {"memory": {"value": memory}}
    return {"name": name, "consumesCounters": [{"counterSet": "card", "counters": counters}]}


CHANGES = (
    ReleaseChange(
        "balance",
        SINCE,
        "NodeResourcesBalancedAllocation scores the improvement",
        "NodeResourcesBalancedAllocation scores how much the pod changes the balance of a node's CPU and memory (50 "
        "to 100, and 75 where it changes nothing), not how balanced the node is with it (0 to 100). Pods go to other "
        "nodes: an unbalanced node that the pod evens out now wins over one that is balanced anyway.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_pod("uneven", make_container(cpu="3", memory="2Gi"), nodeName="a"),
            make_pod("even", make_container(cpu="2", memory="4Gi"), nodeName="b"),
            pending=make_pod("p", make_container(cpu="500m", memory="2Gi")),
        ),
        behaviour=("balanced_allocation_by_delta",),
        plugins=("NodeResourcesBalancedAllocation",),
    ),
    ReleaseChange(
        "images-of-volumes",
        SINCE,
        "ImageLocality counts images of volumes",
        "An image that a pod mounts as a volume counts as those of its containers do: nodes that hold it are better. "
        "Pods with large models or data in images go where these are already.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b", images=(("model:v1", 900),)),
            pending=make_pod(
                "p",
                make_container(cpu="100m"),
                volumes=[{"name": "model", "image": {"reference": "model:v1"}}],
            ),
        ),
        behaviour=("image_locality_image_volumes",),
        plugins=("ImageLocality",),
    ),
    ReleaseChange(
        "declared-features",
        SINCE,
        "Nodes must declare features that pods need",
        "NodeDeclaredFeatures is on: a pod whose spec needs a feature of the kubelet (such as a user namespace "
        "together with the host's network) is kept from nodes that do not declare it. It waits where no node does; "
        "before, it would start and fail.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b", declaredFeatures=["UserNamespacesHostNetworkSupport"]),
            pending=make_pod("p", make_container(cpu="100m"), hostNetwork=True, hostUsers=False),
        ),
        gates=("NodeDeclaredFeatures",),
        plugins=("NodeDeclaredFeatures",),
        fields=("NodeDeclaredFeatures",),
        words=("didn't match Pod's required features",),
    ),
    ReleaseChange(
        "extended-resources",
        SINCE,
        "Extended resources can be devices",
        "DRAExtendedResource is on: an extended resource that no node has, but a device class names, is looked for "
        "among the devices. A pod that asks for it and waited with “Insufficient …” finds a node.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_device_class(extendedResourceName="example.com/gpu"),
            make_slice("a", {"name": "gpu-0"}),
            pending=make_pod("p", make_container() | {"resources": {"requests": {"example.com/gpu": "1"}}}),
        ),
        gates=("DRAExtendedResource",),
        plugins=("NodeResourcesFit", *DEVICES),
        words=("cannot allocate all claims",),
    ),
    ReleaseChange(
        "device-taints",
        SINCE,
        "Taints of devices are heeded",
        "DRADeviceTaints is on: a device with a taint that the claim does not tolerate is not allocated. A pod waits "
        "where it would have got a device that its driver calls worn or broken.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice("a", {"name": "gpu-0", "taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]}),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        gates=("DRADeviceTaints",),
        plugins=DEVICES,
        words=("cannot allocate all claims",),
    ),
    ReleaseChange(
        "device-parts",
        SINCE,
        "Devices can be parts of a device",
        "DRAPartitionableDevices is on: devices that consume shared counters are allocated as long as these suffice. "
        "Before, they are not allocated at all, and a pod that needs one waits.",
        NODE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice(
                "a",
                slices=2,
                name="counters-of-a",
                sharedCounters=[{"name": "card", "counters": {"memory": {"value": "8Gi"}}}],
            ),
            make_slice("a", _make_partition("half-0", "4Gi"), _make_partition("half-1", "4Gi"), slices=2),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        gates=("DRAPartitionableDevices",),
        plugins=DEVICES,
        words=("cannot allocate all claims",),
    ),
    ReleaseChange(
        "device-capacity",
        SINCE,
        "A device can be shared by its capacity",
        "DRAConsumableCapacity is on: a device that allows several allocations serves several claims, as far as the "
        "capacity that they ask for goes, and one that has too little of it is passed over. Before, each device "
        "serves one claim, and what a claim asks of its capacity is not looked at.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_device_class(),
            make_slice("a", make_shared_device("slow", "1Gi")),
            make_slice("b", make_shared_device("fast", "10Gi")),
            make_claim({"exactly": exact_request(capacity={"requests": {"bandwidth": "4Gi"}})}),
            pending=make_pod_with_device("p"),
        ),
        gates=("DRAConsumableCapacity",),
        plugins=DEVICES,
        words=("cannot allocate all claims", "DRAConsumableCapacity feature is disabled"),
    ),
    ReleaseChange(
        "device-conditions",
        SINCE,
        "Devices that must be made ready are allocated",
        "DRADeviceBindingConditions is on: a device that its driver has to make ready first is allocated, and the "
        "pod is bound once it is. Before, such a device is passed over. bindingTimeout, how long that may take, may "
        "be set, and is 10 minutes by default.",
        NODE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice("a", {"name": "gpu-0", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        gates=("DRADeviceBindingConditions",),
        plugins=DEVICES,
        words=("cannot allocate all claims", "bindingTimeout"),
        fields=("bindingTimeout",),
    ),
    ReleaseChange(
        "resources-of-pods",
        SINCE,
        "What the kubelet reports for a whole pod counts",
        "InPlacePodLevelResourcesVerticalScaling is on: while the resources of a pod as a whole are being changed, "
        "it takes the largest of what is asked for, what it has and what was promised. A node keeps room for a pod "
        "that has not shrunk yet.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b", cpu="2400m"),
            make_running_pod(
                make_pod("r", make_container(cpu="500m"), nodeName="a", resources={"requests": {"cpu": "1"}}),
                allocatedResources={"cpu": "3"},
                resources={"requests": {"cpu": "3"}},
            ),
            pending=make_pod("p", make_container(cpu="2")),
        ),
        gates=("InPlacePodLevelResourcesVerticalScaling",),
        plugins=("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    ),
    ReleaseChange(
        "who-is-woken",
        SINCE,
        "Pods that are promised a node wake others",
        "Pods that wait for affinity or spread are tried again when a pod is promised a node that helps them, and when "
        "one leaves whose own anti-affinity kept them away. Before, they wait for another event or five minutes.",
        NODE,
        None,
        behaviour=("hints_include_nominated_pods", "anti_affinity_symmetric_hint"),
    ),
    ReleaseChange(
        "score-plugins",
        SINCE,
        "Errors about weights say where they are",
        "An error about the weights of plugins begins with “score plugins:”, since other points have weights too. No "
        "configuration is known for which kube-scheduler says it: where it would, both releases crash.",
        CONFIGURATION,
        None,
        behaviour=("score_weight_error_prefix",),
        words=("score plugins:",),
    ),
    ReleaseChange(
        "ratio",
        SINCE,
        "requestedToCapacityRatio belongs to its strategy",
        "requestedToCapacityRatio of NodeResourcesFit is needed by the strategy of that name and refused with "
        "another. A configuration that sets it in vain stops kube-scheduler from starting: take it out before the "
        "upgrade.",
        CONFIGURATION,
        make_plugin_args(
            "NodeResourcesFit",
            scoringStrategy={
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 1}],
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
            },
        ),
        behaviour=("strict_capacity_ratio_args",),
        words=("requestedToCapacityRatio",),
        fields=("requestedToCapacityRatio",),
    ),
    ReleaseChange(
        "placement-points",
        SINCE,
        "Extension points and plugins for placements of groups",
        "placementGenerate and placementScore are extension points, TopologyPlacementGenerator and PodGroupPodsCount "
        "plugins of theirs. They do nothing while their feature gates are off. Before, they are unknown fields, and "
        "the configuration is refused.",
        CONFIGURATION,
        make_configuration(plugins={"placementScore": {"enabled": [{"name": "PodGroupPodsCount"}]}}),
        fields=("placementGenerate", "placementScore", "TopologyPlacementGenerator", "PodGroupPodsCount"),
        words=("placementGenerate", "placementScore", "TopologyPlacementGenerator", "PodGroupPodsCount"),
    ),
    ReleaseChange(
        "distinct-values",
        SINCE,
        "A constraint on distinct values is known again",
        "Devices that have to differ in an attribute (distinctAttribute) are looked for. In 1.35 such a claim ends in "
        "an error.",
        NODE,
        make_scenario(*DISTINCT_DEVICES, pending=make_pod_with_device("p")),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "selectors-include",
        SINCE,
        "Selectors of devices know includes()",
        "A selector may ask whether a list has an element, or whether a value is another: list.includes(value). "
        "Before, such a selector is not valid.",
        NODE,
        None,
        behaviour=("cel_includes_function",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "capacity-words",
        SINCE,
        "Without DRAConsumableCapacity claims are searched for otherwise",
        "Where the feature gate DRAConsumableCapacity is off, the error of a claim that asks for capacity names the "
        "subrequest that does, and a constraint on distinct values is known all the same. The gate is on, so that "
        "nothing shows it here.",
        MESSAGE,
        None,
        behaviour=("dra_early_allocator", "dra_capacity_error_by_request"),
        plugins=("DynamicResources",),
    ),
)
