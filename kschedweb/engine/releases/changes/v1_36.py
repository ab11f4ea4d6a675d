"""What kube-scheduler 1.36 does otherwise than 1.35."""

from __future__ import annotations

from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, Change
from kschedweb.engine.releases.changes.objects import (
    DISTINCT,
    arguments,
    claim,
    configuration,
    container,
    device_class,
    exactly,
    node,
    pod,
    running,
    scenario,
    shared_device,
    slice_of,
    with_device,
)

SINCE = "1.36"
DEVICES = ("DynamicResources",)


def _counted(name: str, memory: str) -> dict[str, object]:
    counters = {"memory": {"value": memory}}
    return {"name": name, "consumesCounters": [{"counterSet": "card", "counters": counters}]}


CHANGES = (
    Change(
        "balance",
        SINCE,
        "NodeResourcesBalancedAllocation scores the improvement",
        "NodeResourcesBalancedAllocation scores how much the pod changes the balance of a node's CPU and memory (50 "
        "to 100, and 75 where it changes nothing), not how balanced the node is with it (0 to 100). Pods go to other "
        "nodes: an unbalanced node that the pod evens out now wins over one that is balanced anyway.",
        NODE,
        scenario(
            node("a"),
            node("b"),
            pod("uneven", container(cpu="3", memory="2Gi"), nodeName="a"),
            pod("even", container(cpu="2", memory="4Gi"), nodeName="b"),
            pending=pod("p", container(cpu="500m", memory="2Gi")),
        ),
        behaviour=("balances_by_improvement",),
        plugins=("NodeResourcesBalancedAllocation",),
    ),
    Change(
        "images-of-volumes",
        SINCE,
        "ImageLocality counts images of volumes",
        "An image that a pod mounts as a volume counts as those of its containers do: nodes that hold it are better. "
        "Pods with large models or data in images go where these are already.",
        NODE,
        scenario(
            node("a"),
            node("b", images=(("model:v1", 900),)),
            pending=pod(
                "p",
                container(cpu="100m"),
                volumes=[{"name": "model", "image": {"reference": "model:v1"}}],
            ),
        ),
        behaviour=("image_volumes_are_images",),
        plugins=("ImageLocality",),
    ),
    Change(
        "declared-features",
        SINCE,
        "Nodes must declare features that pods need",
        "NodeDeclaredFeatures is on: a pod whose spec needs a feature of the kubelet (such as a user namespace "
        "together with the host's network) is kept from nodes that do not declare it. It waits where no node does; "
        "before, it would start and fail.",
        NODE,
        scenario(
            node("a"),
            node("b", declaredFeatures=["UserNamespacesHostNetworkSupport"]),
            pending=pod("p", container(cpu="100m"), hostNetwork=True, hostUsers=False),
        ),
        gates=("NodeDeclaredFeatures",),
        plugins=("NodeDeclaredFeatures",),
        fields=("NodeDeclaredFeatures",),
        words=("didn't match Pod's required features",),
    ),
    Change(
        "extended-resources",
        SINCE,
        "Extended resources can be devices",
        "DRAExtendedResource is on: an extended resource that no node has, but a device class names, is looked for "
        "among the devices. A pod that asks for it and waited with “Insufficient …” finds a node.",
        NODE,
        scenario(
            node("a"),
            node("b"),
            device_class(extendedResourceName="example.com/gpu"),
            slice_of("a", {"name": "gpu-0"}),
            pending=pod("p", container() | {"resources": {"requests": {"example.com/gpu": "1"}}}),
        ),
        gates=("DRAExtendedResource",),
        plugins=("NodeResourcesFit", *DEVICES),
        words=("cannot allocate all claims",),
    ),
    Change(
        "device-taints",
        SINCE,
        "Taints of devices are heeded",
        "DRADeviceTaints is on: a device with a taint that the claim does not tolerate is not allocated. A pod waits "
        "where it would have got a device that its driver calls worn or broken.",
        MESSAGE,
        scenario(
            node("a"),
            device_class(),
            slice_of("a", {"name": "gpu-0", "taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]}),
            claim({"exactly": exactly()}),
            pending=with_device("p"),
        ),
        gates=("DRADeviceTaints",),
        plugins=DEVICES,
        words=("cannot allocate all claims",),
    ),
    Change(
        "device-parts",
        SINCE,
        "Devices can be parts of a device",
        "DRAPartitionableDevices is on: devices that consume shared counters are allocated as long as these suffice. "
        "Before, they are not allocated at all, and a pod that needs one waits.",
        NODE,
        scenario(
            node("a"),
            device_class(),
            slice_of(
                "a",
                slices=2,
                name="counters-of-a",
                sharedCounters=[{"name": "card", "counters": {"memory": {"value": "8Gi"}}}],
            ),
            slice_of("a", _counted("half-0", "4Gi"), _counted("half-1", "4Gi"), slices=2),
            claim({"exactly": exactly()}),
            pending=with_device("p"),
        ),
        gates=("DRAPartitionableDevices",),
        plugins=DEVICES,
        words=("cannot allocate all claims",),
    ),
    Change(
        "device-capacity",
        SINCE,
        "A device can be shared by its capacity",
        "DRAConsumableCapacity is on: a device that allows several allocations serves several claims, as far as the "
        "capacity that they ask for goes, and one that has too little of it is passed over. Before, each device "
        "serves one claim, and what a claim asks of its capacity is not looked at.",
        NODE,
        scenario(
            node("a"),
            node("b"),
            device_class(),
            slice_of("a", shared_device("slow", "1Gi")),
            slice_of("b", shared_device("fast", "10Gi")),
            claim({"exactly": exactly(capacity={"requests": {"bandwidth": "4Gi"}})}),
            pending=with_device("p"),
        ),
        gates=("DRAConsumableCapacity",),
        plugins=DEVICES,
        words=("cannot allocate all claims", "DRAConsumableCapacity feature is disabled"),
    ),
    Change(
        "device-conditions",
        SINCE,
        "Devices that must be made ready are allocated",
        "DRADeviceBindingConditions is on: a device that its driver has to make ready first is allocated, and the "
        "pod is bound once it is. Before, such a device is passed over. bindingTimeout, how long that may take, may "
        "be set, and is 10 minutes by default.",
        NODE,
        scenario(
            node("a"),
            device_class(),
            slice_of("a", {"name": "gpu-0", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}),
            claim({"exactly": exactly()}),
            pending=with_device("p"),
        ),
        gates=("DRADeviceBindingConditions",),
        plugins=DEVICES,
        words=("cannot allocate all claims", "bindingTimeout"),
        fields=("bindingTimeout",),
    ),
    Change(
        "resources-of-pods",
        SINCE,
        "What the kubelet reports for a whole pod counts",
        "InPlacePodLevelResourcesVerticalScaling is on: while the resources of a pod as a whole are being changed, "
        "it takes the largest of what is asked for, what it has and what was promised. A node keeps room for a pod "
        "that has not shrunk yet.",
        NODE,
        scenario(
            node("a"),
            node("b", cpu="2400m"),
            running(
                pod("r", container(cpu="500m"), nodeName="a", resources={"requests": {"cpu": "1"}}),
                allocatedResources={"cpu": "3"},
                resources={"requests": {"cpu": "3"}},
            ),
            pending=pod("p", container(cpu="2")),
        ),
        gates=("InPlacePodLevelResourcesVerticalScaling",),
        plugins=("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    ),
    Change(
        "who-is-woken",
        SINCE,
        "Pods that are promised a node wake others",
        "Pods that wait for affinity or spread are tried again when a pod is promised a node that helps them, and when "
        "one leaves whose own anti-affinity kept them away. Before, they wait for another event or five minutes.",
        NODE,
        None,
        behaviour=("hints_see_nominations", "pods_wake_those_they_kept_away"),
    ),
    Change(
        "score-plugins",
        SINCE,
        "Errors about weights say where they are",
        "An error about the weights of plugins begins with “score plugins:”, since other points have weights too. No "
        "configuration is known for which kube-scheduler says it: where it would, both releases crash.",
        CONFIGURATION,
        None,
        behaviour=("names_score_plugins",),
        words=("score plugins:",),
    ),
    Change(
        "ratio",
        SINCE,
        "requestedToCapacityRatio belongs to its strategy",
        "requestedToCapacityRatio of NodeResourcesFit is needed by the strategy of that name and refused with "
        "another. A configuration that sets it in vain stops kube-scheduler from starting: take it out before the "
        "upgrade.",
        CONFIGURATION,
        arguments(
            "NodeResourcesFit",
            scoringStrategy={
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 1}],
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
            },
        ),
        behaviour=("ratio_only_where_it_is_used",),
        words=("requestedToCapacityRatio",),
        fields=("requestedToCapacityRatio",),
    ),
    Change(
        "placement-points",
        SINCE,
        "Extension points and plugins for placements of groups",
        "placementGenerate and placementScore are extension points, TopologyPlacementGenerator and PodGroupPodsCount "
        "plugins of theirs. They do nothing while their feature gates are off. Before, they are unknown fields, and "
        "the configuration is refused.",
        CONFIGURATION,
        configuration(plugins={"placementScore": {"enabled": [{"name": "PodGroupPodsCount"}]}}),
        fields=("placementGenerate", "placementScore", "TopologyPlacementGenerator", "PodGroupPodsCount"),
        words=("placementGenerate", "placementScore", "TopologyPlacementGenerator", "PodGroupPodsCount"),
    ),
    Change(
        "distinct-values",
        SINCE,
        "A constraint on distinct values is known again",
        "Devices that have to differ in an attribute (distinctAttribute) are looked for. In 1.35 such a claim ends in "
        "an error.",
        NODE,
        scenario(*DISTINCT, pending=with_device("p")),
        plugins=("DynamicResources",),
    ),
    Change(
        "selectors-include",
        SINCE,
        "Selectors of devices know includes()",
        "A selector may ask whether a list has an element, or whether a value is another: list.includes(value). "
        "Before, such a selector is not valid.",
        NODE,
        None,
        behaviour=("selectors_know_includes",),
        plugins=("DynamicResources",),
    ),
    Change(
        "capacity-words",
        SINCE,
        "Without DRAConsumableCapacity claims are searched for otherwise",
        "Where the feature gate DRAConsumableCapacity is off, the error of a claim that asks for capacity names the "
        "subrequest that does, and a constraint on distinct values is known all the same. The gate is on, so that "
        "nothing shows it here.",
        MESSAGE,
        None,
        behaviour=("device_search_is_early", "device_capacity_is_refused_by_request"),
        plugins=("DynamicResources",),
    ),
)
