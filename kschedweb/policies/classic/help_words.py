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
    # Predicates.
    _("Rejects every node but the one the pod names."),
    _("Rejects nodes in another zone or region than the labels of a volume name."),
    _("Rejects nodes that nodeSelector or required node affinity leaves out."),
    _("Rejects nodes that a bound volume cannot be reached from, or where a claim finds no volume."),
    _("Rejects nodes that are not ready, out of disk, without network, or cordoned."),
    _("Rejects nodes that would have more volumes of that kind than they take."),
    _("Rejects nodes under pressure; for memory only pods that ask for nothing."),
    _("Rejects nodes where a host port of the pod is taken."),
    _("Rejects nodes where a required term between pods would not hold."),
    _("Rejects nodes where another pod mounts the same disk and one of them writes."),
    _("Rejects nodes with a NoSchedule or NoExecute taint that is not tolerated."),
    _("Rejects nodes with a NoExecute taint that is not tolerated."),
    _("Rejects cordoned nodes, unless the pod tolerates that."),
    _(
        "Rejects nodes without room. A node where CPU, memory or ephemeral storage is overcommitted rejects "
        "every pod that requests anything."
    ),
    _(
        "Rejects what PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector reject, with the reasons of "
        "all."
    ),
    _("As PodFitsHostPorts, by the name it once had."),
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
)  # fmt: skip
