"""The engine's help on classic predicates and priorities, for the catalogues."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

WORDS = (
    _(
        "From 0 to 100: the search ends once so many percent of the nodes are feasible, where there are 100 or more. "
        "1.9 always looks at all."
    ),
    _("How many volumes of a kind a node takes that does not say so itself."),
    _("One a line. What counts is whether the node has them, not their values."),
    _("true: nodes must have all of them; false: none."),
    _("One a line. Pods of a service go to nodes that have the same values of these labels."),
    _("Nodes with this label are preferred."), _("true: nodes that have it; false: nodes that do not."),
    _("What a required affinity of a pod counts for the pods that it means, in the priority too."),
    _("true: all predicates run on every node, and all reasons are reported."),
    _("1.9 asks all predicates of every node, in no order."), _("It always runs."),
    _("The default provider decides."), _("Lets a policy name the predicate."), _("Adds ResourceLimitsPriority."),
    _("Conditions of nodes become taints, which pods can tolerate."),
    _("Nodes that have a label, or do not have it, are preferred."), _("Nodes that have labels, or do not have them."),
    _("Pods of a service stay together."),
    # Which nodes a predicate rejects or a priority prefers, and notes.
    _("nodes that are not ready, out of disk, without network, or cordoned"),
    _("It runs under every policy, unless TaintNodesByCondition puts taints in its place."),
    _("cordoned nodes, unless the pod tolerates that"),
    _("A toleration of node.kubernetes.io/unschedulable:NoSchedule lets the pod pass."),
    _("what PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector reject, with the reasons of all"),
    _("It is one predicate, so none of the four ends the trial for the others."),
    _("every node but the one the pod names"),
    _("A pod that names a node is rarely seen by a scheduler: the kubelet takes it at once."),
    _("nodes where a host port of the pod is taken"),
    _("Two ports are the same where number and protocol are, and an address is the same or 0.0.0.0."),
    _("nodes that nodeSelector or required node affinity leaves out"),
    _("One of the required terms has to hold, and in it every expression."),
    _(
        "nodes without room. A pod that asks for anything is rejected by a node where CPU, memory or "
        "ephemeral storage is overcommitted, even if it asks for something else"
    ),
    _(
        "Room is allocatable less what pods there request. Extended resources that an extender manages can be"
        " left to it."
    ),
    _("nodes where another pod mounts the same disk and one of them writes"),
    _(
        "Looked at are GCE persistent disks, AWS EBS, Ceph RBD and iSCSI volumes that pods name themselves; "
        "EBS may not be shared at all."
    ),
    _("nodes with a NoSchedule or NoExecute taint that is not tolerated"),
    _("nodes with a NoExecute taint that is not tolerated"),
    _("It was meant instead of PodToleratesNodeTaints, for pods that do not care about NoSchedule."),
    _("nodes that lack a label, or have it"),
    _("With presence every label has to be there, with any value; without it none may be."),
    _("nodes whose labels differ from those of the node of a pod like this one"),
    _(
        "The first pod of a service settles the value of each label, those that come later follow; "
        "nodeSelector goes before."
    ),
    _("nodes that would have more volumes of that kind than they take"),
    _(
        "Counted are AWS EBS volumes on the node and of the pod, each once. A node takes as many as it says, "
        "else KUBE_MAX_PD_VOLS, else 39, or 25 on newer machines."
    ),
    _(
        "Counted are GCE persistent disks on the node and of the pod, each once. A node takes as many as it "
        "says, else KUBE_MAX_PD_VOLS, else 16."
    ),
    _(
        "Counted are volumes of each CSI driver on the node and of the pod, each once. A node that does not "
        "say takes any number."
    ),
    _(
        "Counted are Azure disks on the node and of the pod, each once. A node takes as many as it says, else"
        " KUBE_MAX_PD_VOLS, else 16."
    ),
    _(
        "Counted are Cinder volumes on the node and of the pod, each once. A node takes as many as it says, "
        "else KUBE_MAX_PD_VOLS, else 256."
    ),
    _("nodes that a bound volume cannot be reached from, or where a claim finds no volume"),
    _(
        "A claim that waits for its first pod may be bound to a volume of the node, or have one made there. "
        "In 1.9 it lets all pass."
    ),
    _("nodes in another zone or region than the labels of a volume name"),
    _("Nodes without a label of zone or region pass."),
    _("nodes under pressure; for memory only pods that ask for nothing"),
    _("It looks at the condition MemoryPressure."),
    _("It looks at the condition PIDPressure: of process ids."),
    _("It looks at the condition DiskPressure."),
    _("nodes where a required term between pods would not hold"),
    _(
        "Asked are the anti-affinity of pods placed, then the pod's affinity, then its anti-affinity. The "
        "first pod that wants to be near its own kind goes anywhere."
    ),
    _("as PodFitsHostPorts, by the name it once had"),
    _("The fixed order of 1.13 does not have it, so that it is never asked there; 1.9 asks it."),
    _("nodes, and zones, with fewer pods of the same purpose"),
    _("Mapped is how many of the pods are on the node. Nodes without a zone are scored by themselves."),
    _("nodes near pods that are wanted, and far from those that are not"),
    _("It looks at all nodes at once. Required affinity of pods placed counts hardPodAffinitySymmetricWeight."),
    _("Containers that ask for nothing count with 100 m of CPU and 200 MiB."),
    _("nodes that would not run out of one while there is much of the other"),
    _("nodes that do not ask to be kept free of the pod's controller"),
    _(
        "The annotation is scheduler.alpha.kubernetes.io/preferAvoidPods; controllers are "
        "ReplicationControllers and ReplicaSets. With its default weight of 10,000 it outweighs all others "
        "together."
    ),
    _("nodes that the pod's own preferences name"),
    _("Mapped is the sum for the node."),
    _("nodes that do not wish to be left alone"),
    _("Mapped is how many such taints the node has."),
    _("nodes that need not fetch so much"),
    _("Names without a tag mean latest."),
    _("It was to count pods of services only."),
    _("It tells no node apart; without any priority every node has 1, too."),
    _("full nodes"),
    _("It fills nodes one after the other. Containers that ask for nothing count with 100 m of CPU and 200 MiB."),
    _("nodes that would be used as far as the line says"),
    _("How far the node would be used is cut to whole percent, for CPU and for memory."),
    _("nodes that could give the pod as much as it is limited to"),
    _("It only breaks ties."),
    _("places of a label with fewer pods of the pod's first service"),
    _("It has the name that the policy gives it."),
    _("10 for nodes with the label, or without it"),
    _("nodes by a label, with any value"),
    # Formulas of priorities.
    _("0 where the node's annotation names the pod's controller, else 10"),
    _("10 × (1 − difference of the shares of CPU and memory); 0 where one is full"),
    _("10 × (most − pods) ÷ most; pods of the pod's services and controllers; two thirds of it are the zone's"),
    _(
        "10 × (sum − lowest) ÷ (highest − lowest) of the terms' weights, where lowest and highest are 0 at least and "
        "at most"
    ),
    _("10 × sum ÷ highest sum of the preferred terms' weights"),
    _("10 − 10 × taints ÷ most PreferNoSchedule taints that are not tolerated"),
    _("as SelectorSpreadPriority: it reads the same counts"),
    _(
        "from 23 MiB (0) to 1,000 MiB (10) of images, each times the share of nodes that had it when the node became "
        "known"
    ),
    _("mean of (allocatable − requested) × 10 ÷ allocatable for CPU and memory"),
    _("mean of 10 (empty) to 0 (full); by requestedToCapacityRatioArguments along any broken line"),
    _("mean of requested × 10 ÷ allocatable"),
    _("1 where the node could meet the limit of CPU or of memory"),
    _("10 × (all − pods at the label's value) ÷ all; 0 without the label"),
)  # fmt: skip
