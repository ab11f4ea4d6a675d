"""Measures of runs, their groups, the checks of the gate, and why pods had to leave."""

from __future__ import annotations

from django.utils.translation import gettext_noop

MEASURES = (
    # Groups of measures.
    gettext_noop("Do pods run?"),
    gettext_noop("Disruption"),
    gettext_noop("Balance"),
    gettext_noop("Cost"),
    gettext_noop("Speed"),
    # Measures.
    gettext_noop("Unscheduled pods"),
    gettext_noop("Pods that still wait at the end."),
    gettext_noop("Time to schedule, median"),
    gettext_noop(
        "How long a pod took from its arrival until it was bound; pods that were never bound do not count."
    ),
    gettext_noop("Time to schedule, 99th percentile"),
    gettext_noop(
        "How long the slowest of a hundred pods took from its arrival until it was bound; pods that were never bound "
        "do not count."
    ),
    gettext_noop("Pods pending, mean"),
    gettext_noop("Pods that waited, on average over time."),
    gettext_noop("Pods pending, at most"),
    gettext_noop("The most pods that waited at once."),
    gettext_noop("Preemptions"),
    gettext_noop("Pods that had to make room for another pod."),
    gettext_noop("Evictions"),
    gettext_noop("Pods evicted by a drain, a taint or the descheduler, or because their node was removed."),
    gettext_noop("Evictions by the descheduler"),
    gettext_noop("Pods that a plugin of the descheduler evicted."),
    gettext_noop("Evictions again"),
    gettext_noop("Evictions of pods that the descheduler had evicted before: two policies undo one another."),
    gettext_noop("Failed pods"),
    gettext_noop("Pods that the kubelet of their node did not accept."),
    gettext_noop("Pods in unknown state, at most"),
    gettext_noop("The most pods at once on nodes whose kubelet is silent: nobody knows whether they run."),
    gettext_noop("Disruptions beyond a budget"),
    gettext_noop("Pods evicted beyond what their PodDisruptionBudget allows to be down at once."),
    gettext_noop("Budgets disrupted"),
    gettext_noop("PodDisruptionBudgets with more pods down at once than they allow."),
    gettext_noop("Replicas of scaled workloads, mean"),
    gettext_noop("Pods that all scaled workloads ask for together, on average over time."),
    gettext_noop("Changes of scale"),
    gettext_noop("How often the number of pods of a workload was changed."),
    gettext_noop("Time above target"),
    gettext_noop("Share of an autoscaler's looks, 15 seconds apart, at which its pods used more CPU than it aims at."),
    gettext_noop("Node-hours"),
    gettext_noop("How long nodes were there, all nodes added up."),
    gettext_noop("Node-hours in use"),
    gettext_noop("How long nodes ran more than pods of DaemonSets and static pods, all nodes added up."),
    gettext_noop("Empty nodes"),
    gettext_noop("Nodes with nothing but pods of DaemonSets and static pods at the end."),
    gettext_noop("Cost of nodes by their offerings"),
    gettext_noop("What the nodes cost by the prices of their offerings, in the currency of these."),
    gettext_noop(
        "What the nodes cost by the prices of their offerings, in the currency of these. Nodes without a known price "
        "do not count."
    ),
    gettext_noop("Node-hours without a price"),
    gettext_noop("Node-hours without the price of an offering"),
    gettext_noop("How long nodes were there whose price is not known, all nodes added up."),
    gettext_noop("How long nodes without a price were there, all added up: they are in no cost."),
    gettext_noop("Nodes launched"),
    gettext_noop("Nodes that the autoscaler launched."),
    gettext_noop("Nodes removed"),
    gettext_noop("Nodes that the autoscaler removed."),
    gettext_noop("Evictions an hour"),
    gettext_noop("Pods that had to leave their node, on average an hour."),
    gettext_noop("Cost of nodes"),
    gettext_noop("What all nodes cost; nodes without a price count as 0."),
    gettext_noop("Cost of nodes in use"),
    gettext_noop(
        "What nodes cost while they run more than pods of DaemonSets and static pods, as if they were alone; nodes "
        "without a price count as 0."
    ),
    gettext_noop("Cost of nodes in use at the end"),
    gettext_noop(
        "What the nodes that run more than pods of DaemonSets and static pods at the end cost an hour; nodes without a "
        "price count as 0."
    ),
    gettext_noop("Pods moved"),
    gettext_noop("Pods that end on another node than under the base policy."),
    gettext_noop("Pods that go elsewhere"),
    gettext_noop("Pods on another node than under the reference."),
    gettext_noop("Pods that end on another node than under the policy that is compared with."),
    gettext_noop("Fragmentation of %(resource)s"),
    gettext_noop(
        "Share of the free %(resource)s at the end that a pod drawn from the workload cannot use, on average."
    ),
    gettext_noop("Skew of %(resource)s requests at the end"),
    gettext_noop("Skew of %(resource)s requests"),
    gettext_noop("Spread of %(resource)s requests at the end"),
    gettext_noop("Spread of %(resource)s requests"),
    gettext_noop("The fullest node minus the emptiest, by the requested share of %(resource)s, on average over time."),
    gettext_noop("The fullest node minus the emptiest, by the requested share of %(resource)s, at the end."),
    gettext_noop(
        "Standard deviation over the nodes of the requested share of %(resource)s, on average over time."
    ),
    gettext_noop("Standard deviation over the nodes of the requested share of %(resource)s, at the end."),
    gettext_noop("Requested %(resource)s"),
    gettext_noop("Share of all %(resource)s that is requested by pods on nodes, on average over time."),
    gettext_noop("Skew of %(resource)s use at the end"),
    gettext_noop("Skew of %(resource)s use"),
    gettext_noop(
        "The fullest node minus the emptiest, by the share of %(resource)s that is really used, on average over time."
    ),
    gettext_noop("Spread of %(resource)s use"),
    gettext_noop(
        "Standard deviation over the nodes of the share of %(resource)s that is really used, on average over time."
    ),
    gettext_noop("Hottest node by %(resource)s use at the end"),
    gettext_noop("Hottest node by %(resource)s use"),
    gettext_noop("The highest share of %(resource)s that was really used on any node at any time."),
    gettext_noop("Nodes in use"),
    gettext_noop("Nodes with more than pods of DaemonSets and static pods. All other nodes can go."),
    gettext_noop("Node-hours a day"),
    gettext_noop("What the nodes in use come to in a day, once all others are gone."),
    # Checks of the gate.
    gettext_noop("All %(count)s checks pass."),
    gettext_noop("The check passes."),
    gettext_noop("%(failed)s of %(count)s checks fail: %(why)s"),
    gettext_noop("%(failed)s of %(count)s checks fails: %(why)s"),
    gettext_noop("%(failed)s of 1 check fails: %(why)s"),
    gettext_noop("Newly unschedulable pods"),
    gettext_noop("No pod is newly unschedulable; %(allowed)s."),
    gettext_noop("%(count)s pods find no node but would under the baseline; %(allowed)s."),
    gettext_noop("1 pod finds no node but would under the baseline; %(allowed)s."),
    gettext_noop("Moved pods"),
    gettext_noop(
        "%(count)s pods go to another node (%(share)s %% of the %(pods)s that have one under both); %(allowed)s."
    ),
    gettext_noop(
        "1 pod goes to another node (%(share)s %% of the %(pods)s that have one under both); %(allowed)s."
    ),
    gettext_noop("%(count)s pods go to another node; %(allowed)s."),
    gettext_noop("1 pod goes to another node; %(allowed)s."),
    gettext_noop("Pods that wait at the end"),
    gettext_noop("%(count)s pods wait at the end; %(allowed)s."),
    gettext_noop("1 pod waits at the end; %(allowed)s."),
    gettext_noop("Pods without a node after the loss of a zone"),
    gettext_noop("No node has a zone, so there is no zone to lose."),
    gettext_noop("Every pod of priority %(priority)s and above finds a node again after the loss of any one zone."),
    gettext_noop(
        "%(count)s pods of priority %(priority)s and above find no node after the loss of zone %(zone)s; allowed: none."
    ),
    gettext_noop(
        "1 pod of priority %(priority)s and above finds no node after the loss of zone %(zone)s; allowed: none."
    ),
    gettext_noop("There is nothing to measure."),
    gettext_noop("%(measure)s: there is nothing to measure under the policy."),
    gettext_noop("%(measure)s: %(amount)s, the same as under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s, %(change)s more than under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s, %(change)s less than under the baseline; %(allowed)s."),
    gettext_noop("%(measure)s: %(amount)s; %(allowed)s."),
    gettext_noop("allowed: %(first)s and %(second)s"),
    gettext_noop("allowed: %(first)s"),
    gettext_noop("at most %(limit)s more or less"),
    gettext_noop("at most %(limit)s more"),
    gettext_noop("at most %(limit)s less"),
    gettext_noop("at most %(limit)s"),
    gettext_noop("at least %(limit)s"),
    gettext_noop("none"),
    # What the change of a policy does to use.
    gettext_noop("Highest node less the lowest, by the share of %(resource)s that the pods would really use."),
    gettext_noop("The highest node, by the share of %(resource)s that the pods would really use."),
    # Why a pod had to leave.
    gettext_noop("preempted"),
    gettext_noop("evicted"),
    gettext_noop("failed"),
    gettext_noop("lost with its node"),
    gettext_noop("memory"),
)  # fmt: skip
