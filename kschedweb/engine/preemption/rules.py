"""The rules of preemption that differ between releases."""

from __future__ import annotations

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """The rules of one release; without arguments those of 1.37 for single pods."""

    # Pods of a group count as the group, and may have to go together.
    evicts_groups: bool = False
    # The clock is read in each comparison of two pods that have not started, so that the first always seems older.
    unstarted_by_clock: bool = False
    # Of victims that are equal otherwise the one with the lower UID is more important.
    ties_by_uid: bool = False
    # A budget whose selector is empty protects all pods of its namespace, and pods without labels can be protected.
    empty_budget_selector: bool = False
    # Extenders are offered nodes on which nothing in tree has to be evicted, and may name victims there.
    offers_nodes_without_victims: bool = False
    # A member of a group that does not go as a whole is a victim like a single pod, with its own priority. A group that
    # looks for victims prefers the nodes that cost least.
    workload_preemption: bool = False
    # A group that is part of a composite one may have to go with all of that.
    evicts_composites: bool = False
