"""The groups of measures, the most important first, and the families that share a chart."""

from __future__ import annotations

from kschedweb.engine.studies.measure.spec import Family, SpecGroup

RUN = SpecGroup("run", "Do pods run?")
DISRUPTION = SpecGroup("disruption", "Disruption")
BALANCE = SpecGroup("balance", "Balance")
COST = SpecGroup("cost", "Cost")
SPEED = SpecGroup("speed", "Speed")
GROUPS = (RUN, DISRUPTION, BALANCE, COST, SPEED)

PENDING = Family(
    "pending",
    RUN,
    "Pods that do not run",
    "A pod waits from its arrival until it has a node: in the active queue, where it is tried next; backing "
    "off after an error; unschedulable, until something happens that may help; or gated, until its scheduling "
    "gates are gone. Unscheduled pods still wait when the run ends. A pod that names a node without room for "
    "it fails there. Of pods on a node whose kubelet is silent, nobody knows whether they run. Fewer are "
    "better.",
)
LEAVING = Family(
    "leaving",
    DISRUPTION,
    "Preemptions, evictions and budgets",
    "A preempted pod makes room for one of higher priority. An evicted pod loses its node to a drain, to a "
    "taint that it does not tolerate, to the descheduler, or with the node. A PodDisruptionBudget says how "
    "many pods of an application may be down at once: a disruption beyond it takes one more. Fewer are better.",
)
REQUESTS = Family(
    "requests",
    BALANCE,
    "Skew and spread of requests",
    "How evenly requests are spread over the nodes, each node by the share of it that is requested. Skew is "
    "the fullest node less the emptiest, spread the standard deviation over all nodes, both in percentage "
    "points: 0 means that all nodes are equally full. Lower is better for evenness. A policy that packs makes "
    "both larger on purpose.",
)
USE = Family(
    "use",
    BALANCE,
    "Skew and spread of use",
    "As for requests, with what nodes really use: the scenario's watermarks or recorded use. Only nodes that "
    "are ready, not cordoned and not tainted are compared. The hottest node is the highest use of any node at "
    "any time: near 100 % its pods slow each other down. Lower is better.",
)
IN_USE = Family(
    "nodes",
    COST,
    "Nodes in use",
    "Node-hours count each node for as long as it is there. A node is in use while it runs more than pods of "
    "DaemonSets and static pods. The others are empty: they could be switched off, or take a pod of any size. "
    "Fewer node-hours and more empty nodes are better, if what is saved is worth it: packing tightly makes the "
    "other nodes uneven. Costs are by the prices of the scenario; nodes without a price are in no cost.",
)
FRAGMENTATION = Family(
    "fragmentation",
    COST,
    "Fragmentation",
    "The share of what is free that a pod drawn at random from the workload cannot use, since the node has "
    "too little of something else, or may not run it (Weng et al., USENIX ATC 2023). At 0 % everything that "
    "is free is of use to every pod; at 100 % nothing is. It also counts pods that do not ask for the "
    "resource at all, so it stays high for GPUs where most pods want none. Lower is better.",
)
SCALING = Family(
    "scaling",
    COST,
    "Scaled workloads",
    "How many pods are asked for by workloads that an autoscaler or cron entries scale, and how many of them "
    "are ready. An autoscaler looks every 15 seconds. Time above target is the share of its looks at which "
    "the pods used more of the CPU that they request than it aims at. It does nothing while they are less "
    "than 10 % above. Fewer pods are better where no more of the time is above target.",
)
WAIT = Family(
    "wait",
    SPEED,
    "Time to schedule",
    "The time from a pod's arrival to its binding, in the time of the simulation: each try takes the "
    "scenario's cycle (1 ms unless it says otherwise), so pods that come together wait for one another. Half "
    "of all pods are faster than the median, 99 of 100 faster than the 99th percentile. Pods without a node "
    "do not count here: they are unscheduled. Shorter is better.",
)
OWN_FAMILIES = (PENDING, LEAVING, REQUESTS, USE, IN_USE, FRAGMENTATION, SCALING, WAIT)
