"""The differences of kube-scheduler 1.35 from 1.34."""

from __future__ import annotations

from kschedweb.engine.releases.changes.change import CONFIGURATION, NODE, ReleaseChange
from kschedweb.engine.releases.changes.objects import (
    DISTINCT_DEVICES,
    exact_request,
    make_claim,
    make_configuration,
    make_device_class,
    make_node,
    make_plugin_args,
    make_pod_with_device,
    make_scenario,
    make_shared_device,
    make_slice,
)

SINCE = "1.35"

CHANGES = (
    ReleaseChange(
        "devices-score",
        SINCE,
        "DynamicResources scores",
        "DynamicResources scores, with weight 2: of the alternatives that a claim lists, a node where an earlier one "
        "can be had is better. A pod that took any node with some alternative now goes where the first one is.",
        NODE,
        make_scenario(
            make_node("a"),
            make_node("b"),
            make_device_class(),
            make_device_class(
                "spare", selectors=[{"cel": {"expression": 'device.attributes["gpu.example.com"].spare'}}]
            ),
            make_slice("a", {"name": "old", "attributes": {"spare": {"bool": True}}}),
            make_slice("b", {"name": "new", "attributes": {"spare": {"bool": False}}}),
            make_claim(
                {
                    "firstAvailable": [
                        {
                            "name": "best",
                            "deviceClassName": "gpu",
                            "allocationMode": "ExactCount",
                            "count": 1,
                            "selectors": [
                                {"cel": {"expression": '!device.attributes["gpu.example.com"].spare'}},
                            ],
                        },
                        {
                            "name": "other",
                            "deviceClassName": "spare",
                            "allocationMode": "ExactCount",
                            "count": 1,
                        },
                    ]
                }
            ),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("dra_prioritized_list_scoring",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "device-pools",
        SINCE,
        "A pool of devices is looked at as a whole",
        "Devices of a pool whose slices are not all there yet are no longer taken, and one with two devices of one "
        "name is passed over where it was an error. Slices for other nodes count, and counters are those of the pool. "
        "A constraint on distinct values (distinctAttribute) compares them; 1.34 takes any two devices that have one.",
        NODE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice("a", {"name": "gpu-0"}, slices=2),
            make_claim({"exactly": exact_request()}),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("dra_node_local_pools",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "binding-timeout",
        SINCE,
        "bindingTimeout of DynamicResourcesArgs is known",
        "bindingTimeout, how long a pod waits until its devices are ready, is a field of DynamicResources' "
        "arguments. Before, it is an unknown field, and the configuration is refused.",
        CONFIGURATION,
        make_plugin_args("DynamicResources", bindingTimeout="30s"),
        behaviour=("dra_binding_timeout_argument",),
        words=("bindingTimeout",),
        fields=("bindingTimeout",),
    ),
    ReleaseChange(
        "claims-of-capacity",
        SINCE,
        "A claim that asks for capacity is no error",
        "A claim that asks for some of a device's capacity gets a whole device, and what it asks for is not looked "
        "at. 1.34 ends in an error, and the pod is tried in vain again and again.",
        NODE,
        make_scenario(
            make_node("a"),
            make_device_class(),
            make_slice("a", make_shared_device("net", "10Gi")),
            make_claim({"exactly": exact_request(capacity={"requests": {"bandwidth": "4Gi"}})}),
            pending=make_pod_with_device("p"),
        ),
        behaviour=("dra_capacity_error_with_status",),
        plugins=("DynamicResources",),
        words=("DRAConsumableCapacity feature is disabled",),
    ),
    ReleaseChange(
        "distinct-values-unknown",
        SINCE,
        "A constraint on distinct values is unknown",
        "A claim whose devices have to differ in an attribute (distinctAttribute) ends in an error while the feature "
        "gate DRAConsumableCapacity is off, and its pod is tried in vain again and again. 1.34 finds such devices.",
        NODE,
        make_scenario(*DISTINCT_DEVICES, pending=make_pod_with_device("p")),
        behaviour=("dra_early_allocator",),
        plugins=("DynamicResources",),
    ),
    ReleaseChange(
        "ending-pods",
        SINCE,
        "A pod that is being deleted gives up its node at once",
        "A pod that is deleted while it is on its way to a node, but has a finalizer, gives the node up at once. In "
        "1.34 it takes up its room until its binding has failed.",
        NODE,
        None,
        behaviour=("terminating_pods_release_node",),
    ),
    ReleaseChange(
        "label-key",
        SINCE,
        "Errors speak of a label key",
        "An error about a key that no label can have says “a valid label key must …” where it said “a qualified name "
        "must …”. Whoever looks for these words in logs has to look for the new ones.",
        CONFIGURATION,
        make_plugin_args(
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[{"maxSkew": 1, "topologyKey": "not/a/key", "whenUnsatisfiable": "ScheduleAnyway"}],
        ),
        behaviour=("qualified_name_error_text",),
        words=("valid label key must", "qualified name must"),
    ),
    ReleaseChange(
        "plugins-of-1.35",
        SINCE,
        "NodeDeclaredFeatures and GangScheduling can be named",
        "The plugins NodeDeclaredFeatures and GangScheduling exist, and do nothing while their feature gates are "
        "off. A configuration that names one of them is refused before.",
        CONFIGURATION,
        make_configuration(plugins={"multiPoint": {"enabled": [{"name": "GangScheduling"}]}}),
        fields=("NodeDeclaredFeatures", "GangScheduling"),
        words=("GangScheduling", "NodeDeclaredFeatures"),
    ),
    ReleaseChange(
        "ties",
        SINCE,
        "Equally good nodes are no longer drawn from",
        "Of several nodes with the best total the one on top of the scheduler's heap is taken; 1.34 draws one of "
        "them at random. That draw is not repeated here: the answer for 1.34 is one of the best nodes too, the one "
        "that 1.35 takes.",
        NODE,
        None,
    ),
)
