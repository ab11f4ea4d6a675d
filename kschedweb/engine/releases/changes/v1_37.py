"""The differences of kube-scheduler 1.37 from 1.36."""

from __future__ import annotations

from kschedweb.engine.releases.changes.change import CONFIGURATION, MESSAGE, NODE, SCORES, VICTIMS, ReleaseChange
from kschedweb.engine.releases.changes.objects import (
    DEVICES,
    DRIVER,
    HOSTNAME,
    STORAGE,
    exact_request,
    make_claim,
    make_configuration,
    make_container,
    make_device_class,
    make_late_storage,
    make_node,
    make_object,
    make_pod,
    make_pod_with_data,
    make_pod_with_device,
    make_running_pod,
    make_scenario,
    make_slice,
    make_storage_capacity,
)

SINCE = "1.37"
LARGE = "cel.bind(m, device.capacity['gpu.example.com'].?memory, m.value().isGreaterThan(quantity('1Gi')))"


def _make_container_status(name: str, cpu: str) -> dict[str, object]:
    """Return the status of a running container for which ``cpu`` was allocated and set."""
    amount = {"cpu": cpu}
    return {
        "name": name,
        "image": "app",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {}},
        "lastState": {},
        "allocatedResources": amount,
        "resources": {"requests": amount},
    }


CHANGES = (
    ReleaseChange(
        "nothing-to-deallocate",
        SINCE,
        "Messages no longer speak of claims that cannot be given back",
        "The message of a pod that fits nowhere no longer says “no new claims to deallocate” or “still not "
        "schedulable”, which DynamicResources said of each such pod. Alerts on the whole text have to be changed.",
        MESSAGE,
        make_scenario(make_node("a", cpu="1"), pending=make_pod("p", make_container(cpu="2"))),
        behaviour=("dra_postfilter_message",),
        plugins=("DynamicResources",),
        words=("no new claims to deallocate", "still not schedulable"),
    ),
    ReleaseChange(
        "where-room-is-made",
        SINCE,
        "Messages say where room is made",
        "The message of a pod for which others are evicted says on which node, and how many: “preemption: found a "
        "potential placement …”. Before, it says nothing of that.",
        MESSAGE,
        make_scenario(
            make_node("a", cpu="2"),
            make_running_pod(make_pod("low", make_container(cpu="2"), nodeName="a", priority=0)),
            pending=make_pod("p", make_container(cpu="2"), priority=10),
        ),
        behaviour=("preemption_placement_message",),
        plugins=("DefaultPreemption",),
        words=("found a potential placement",),
    ),
    ReleaseChange(
        "storage-capacity",
        SINCE,
        "VolumeBinding prefers nodes with more free storage",
        "StorageCapacityScoring is on: for a claim that waits for a node, VolumeBinding scores how much storage is "
        "left there. Pods with such claims go to emptier storage. The curve of that score, `shape`, may be set and "
        "has a default.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            *make_late_storage(storageCapacity=True),
            make_storage_capacity("a", "12Gi"),
            make_storage_capacity("b", "100Gi"),
            pending=make_pod_with_data("p"),
        ),
        gates=("StorageCapacityScoring",),
        plugins=("VolumeBinding",),
        words=("VolumeBinding",),
        fields=("shape",),
    ),
    ReleaseChange(
        "driver-needed",
        SINCE,
        "A CSI driver can keep pods from nodes without it",
        "VolumeLimitScaling is on: where a CSIDriver says preventPodSchedulingIfMissing, a node that does not have "
        "it is refused for pods that need it. Such pods no longer go to a node where their volume cannot be "
        "attached.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            *make_late_storage(preventPodSchedulingIfMissing=True),
            make_object(
                STORAGE,
                "CSINode",
                "b",
                spec={"drivers": [{"name": "csi.example.com", "nodeID": "b", "topologyKeys": []}]},
            ),
            pending=make_pod_with_data("p"),
        ),
        gates=("VolumeLimitScaling",),
        plugins=("NodeVolumeLimits",),
        words=("CSI driver is not installed on the node",),
    ),
    ReleaseChange(
        "device-search",
        SINCE,
        "The search for devices is revised",
        "An error of a selector of devices names the device that it failed on. A configuration that is for all "
        "requests names none of them, counters are those of one driver's pool, and a constraint on distinct values "
        "counts every device of a request. Claims with such parts can get other devices.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            make_device_class(selectors=[{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "x"'}}]),
            make_slice("a", {"name": "gpu-0"}),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("dra_revised_allocator",),
        plugins=("DynamicResources",),
        words=("CEL runtime error",),
    ),
    ReleaseChange(
        "selectors-keep-values",
        SINCE,
        "Selectors of devices can use what an optional holds",
        "A selector may take a quantity or a version out of an optional that has a name (cel.bind, optMap), and use "
        "macros, value() and dyn() on attributes of any type. Before, such a selector ends in an error or is not "
        "valid. What is no optional has no or() and orValue() any more, and lists.range() refuses a negative number.",
        NODE,
        make_scenario(
            make_node("a"),
            make_device_class(selectors=[{"cel": {"expression": LARGE}}]),
            make_slice("a", {"name": "gpu-0", "capacity": {"memory": {"value": "8Gi"}}}),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("cel_typed_optionals",),
        plugins=("DynamicResources",),
        words=("CEL runtime error",),
    ),
    ReleaseChange(
        "claims-wake",
        SINCE,
        "A deleted claim wakes pods that wait for devices",
        "A ResourceClaim that had devices and is deleted wakes the pods that DynamicResources refused. Before, they "
        "wait for another event, or for some minutes. A simulation over time shows it; one decision does not.",
        NODE,
        None,
        behaviour=("claim_delete_requeues",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "groups",
        SINCE,
        "A group of pods is one entity",
        "With the feature gate GenericWorkload, off by default, a PodGroup is queued and placed as one: all of its "
        "pods or none. What earlier releases do with that gate is not simulated.",
        NODE,
        None,
        behaviour=("pod_group_entities",),
        plugins=("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"),
        fields=("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"),
    ),
    ReleaseChange(
        "room-for-resizes",
        SINCE,
        "Room can be made for the resize of a running pod",
        "With the feature gate InPlacePodVerticalScalingSchedulerPreemption, off by default, a running pod whose "
        "resize the kubelet puts off is scheduled again, for its own node: pods of lower priority are evicted there "
        "until it fits. A node's podPreemptionPolicy can forbid it.",
        NODE,
        None,
        plugins=("DeferredPodScheduling",),
        words=("node had resize preemption disabled",),
        fields=("DeferredPodScheduling",),
    ),
    ReleaseChange(
        "taint-rules",
        SINCE,
        "DeviceTaintRules are heeded",
        "DRADeviceTaintRules is on: a DeviceTaintRule taints the devices that it selects, and a claim that does not "
        "tolerate that gets others, or waits. Before, the rule does nothing.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice("a", {"name": "gpu-0"}),
            make_object(
                DEVICES,
                "DeviceTaintRule",
                "worn",
                spec={
                    "deviceSelector": {"driver": DRIVER},
                    "taint": {"key": "example.com/worn", "effect": "NoSchedule"},
                },
            ),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        gates=("DRADeviceTaintRules",),
        plugins=("DynamicResources",),
        words=("cannot allocate all claims",),
    ),
    ReleaseChange(
        "namespaces-without-labels",
        SINCE,
        "A namespaceSelector reaches namespaces without labels",
        "A term of pod affinity or anti-affinity whose namespaceSelector holds for namespaces without labels counts "
        "only those that it selects. Before, it forgot its selector on the way, and could count pods of namespaces "
        "that it does not select. A pod that was refused can find a node.",
        NODE,
        make_scenario(
            make_node("a"),
            make_object("v1", "Namespace", "one") | {"metadata": {"name": "one", "labels": {"team": "x"}}},
            make_object("v1", "Namespace", "two") | {"metadata": {"name": "two", "labels": {}}},
            make_pod("w", make_container(), namespace="one", labels={"app": "w"}, nodeName="a"),
            pending=make_pod(
                "p",
                make_container(),
                namespace="two",
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "labelSelector": {"matchLabels": {"app": "w"}},
                                "namespaceSelector": {
                                    "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]
                                },
                                "topologyKey": HOSTNAME,
                            }
                        ]
                    }
                },
            ),
        ),
        behaviour=("namespace_selector_per_term",),
        plugins=("InterPodAffinity",),
        words=("didn't match pod anti-affinity rules", "didn't match pod affinity rules"),
    ),
    ReleaseChange(
        "threshold-of-images",
        SINCE,
        "Images of volumes raise ImageLocality's threshold",
        "For the best score of ImageLocality a node has to hold more where a pod mounts images as volumes, as for "
        "each container more. Its scores for such pods are lower, so other plugins count for more.",
        SCORES,
        make_scenario(
            make_node("a", images=(("model:v1", 900),)),
            make_node("b"),
            pending=make_pod(
                "p",
                make_container(cpu="100m"),
                volumes=[{"name": "model", "image": {"reference": "model:v1"}}],
            ),
        ),
        behaviour=("image_locality_volume_scaling",),
        plugins=("ImageLocality",),
    ),
    ReleaseChange(
        "resizes",
        SINCE,
        "A pod that is resized counts by its sums",
        "While containers of a pod are being resized, the sums over all of them are compared, of what is asked for, "
        "promised and there; before, each container's largest amount was added up. A pod of which one container "
        "grows and another shrinks takes less of its node.",
        NODE,
        make_scenario(
            make_node("a"),
            make_running_pod(
                make_pod("r", make_container("c1", cpu="2"), make_container("c2", cpu="500m"), nodeName="a"),
                containerStatuses=[_make_container_status("c1", "1"), _make_container_status("c2", "1500m")],
            ),
            pending=make_pod("p", make_container(cpu="1")),
        ),
        behaviour=("resize_pod_level_sums",),
        plugins=("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    ),
    ReleaseChange(
        "pod-level-requests",
        SINCE,
        "Requests of a whole pod are completed",
        "PodLevelResourcesFixDefaulting is on: to what a pod asks for as a whole the API server adds what its "
        "containers ask for together, where the pod says nothing of it, and that counts while a running pod is "
        "resized.",
        NODE,
        None,
        gates=("PodLevelResourcesFixDefaulting",),
        plugins=("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    ),
    ReleaseChange(
        "unstarted-victims",
        SINCE,
        "Victims that have not started keep their order",
        "Of pods of one priority that have not started yet, preemption spares the first ones on the node. Before, "
        "which of them have to go follows from no order.",
        VICTIMS,
        make_scenario(
            make_node("a"),
            *(make_pod(f"v{number}", make_container(cpu="1"), nodeName="a", priority=1) for number in range(4)),
            pending=make_pod("p", make_container(cpu="2"), priority=10),
        ),
        behaviour=("unstarted_victims_stable_order",),
        plugins=("DefaultPreemption",),
    ),
    ReleaseChange(
        "bind-mounts",
        SINCE,
        "bindMountOptions need a feature of the node",
        "A pod with bindMountOptions is kept from nodes that do not declare VolumeBindMountOptions. It waits where "
        "no node does.",
        MESSAGE,
        make_scenario(
            make_node("a"),
            pending=make_pod(
                "p",
                make_container() | {"volumeMounts": [{"name": "d", "mountPath": "/d", "bindMountOptions": ["noexec"]}]},
                volumes=[{"name": "d", "emptyDir": {}}],
            ),
        ),
        behaviour=("bind_mount_options_feature",),
        plugins=("NodeDeclaredFeatures",),
        words=("didn't match Pod's required features",),
    ),
    ReleaseChange(
        "who-is-woken-too",
        SINCE,
        "Taints wake fewer pods, and one term of anti-affinity is enough",
        "A changed taint wakes only the pods of plugins that look at taints, no longer all that wait for a new node. A "
        "pod with several terms of anti-affinity is tried again when a pod leaves that one of them means, not all.",
        NODE,
        None,
        behaviour=("anti_affinity_hint_matches_any_term", "taint_update_as_node_add"),
    ),
    ReleaseChange(
        "gated-pods",
        SINCE,
        "Gated pods are looked at again, and keep the room they were promised",
        "A pod that a plugin keeps out of the queue is looked at again every five minutes, whatever that plugin waits "
        "for. One that was nominated to a node before the scheduler was started keeps that room from the start, not "
        "only once its gates are gone.",
        NODE,
        None,
        behaviour=("gated_pods_flushed", "nomination_on_pod_add"),
    ),
    ReleaseChange(
        "node-filters",
        SINCE,
        "NodeName comes first, and three filters run at preFilter too",
        "NodeName stands before NodeUnschedulable in the default set, and both, like TaintToleration, run at "
        "preFilter too, where a node that is named narrows the search. The same nodes fit. A configuration may name "
        "the three at preFilter; one that does is refused before.",
        CONFIGURATION,
        make_configuration(plugins={"preFilter": {"enabled": [{"name": "NodeName"}]}}),
        behaviour=("node_plugins_prefilter",),
        plugins=("NodeName", "NodeUnschedulable", "TaintToleration"),
        words=("PreFilterPlugin",),
        fields=("NodeName", "NodeUnschedulable", "TaintToleration"),
    ),
    ReleaseChange(
        "groups-post-filter",
        SINCE,
        "podGroupPostFilter is an extension point",
        "podGroupPostFilter is an extension point, for groups of pods that find no place. It does nothing while its "
        "feature gate is off. Before, it is an unknown field, and the configuration is refused.",
        CONFIGURATION,
        make_configuration(plugins={"podGroupPostFilter": {"enabled": []}}),
        fields=("podGroupPostFilter",),
        words=("podGroupPostFilter",),
    ),
)
