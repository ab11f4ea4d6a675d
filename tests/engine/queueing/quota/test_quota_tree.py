"""The tree of quota, with Kueue's worked example: what holds a queue back is a chain of minima."""

from __future__ import annotations

from kschedweb.engine.queueing.quota.amounts import (
    UNLIMITED,
    FlavorResource,
    add_amounts,
    format_amount,
    subtract_amounts,
)
from kschedweb.engine.queueing.quota.objects import ResourceQuota
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaForest, QuotaNode, find_lowest_fit
from kschedweb.engine.queueing.quota.shares import compute_share

CPU = FlavorResource("f", "cpu")


def build_tree() -> QuotaForest[QuotaNode]:
    """root: 4; m in it: 2, borrows 5; a in m: 10, lends 6, uses 3; b in m: 4, borrows 3, uses 6; c in root: 6."""
    forest: QuotaForest[QuotaNode] = QuotaForest()
    quotas = {
        "root": ResourceQuota(4000), "m": ResourceQuota(2000, borrowing_limit=5000),
        "a": ResourceQuota(10000, lending_limit=6000), "b": ResourceQuota(4000, borrowing_limit=3000),
        "c": ResourceQuota(6000),
    }  # fmt: skip
    for name in ("root", "m"):
        forest.add_cohort(name).quotas = {CPU: quotas[name]}
        forest.cohorts[name].fair_weight = 1.0
    forest.move_cohort("m", "root")
    for name, parent, used in (("a", "m", 3000), ("b", "m", 6000), ("c", "root", 0)):
        queue = forest.queues[name] = QuotaNode(name)
        queue.quotas, queue.fair_weight = {CPU: quotas[name]}, 1.0
        queue.subtree_quota, queue.usage = {CPU: quotas[name].nominal}, {CPU: used}
        forest.move_queue(name, parent)
    accumulate(forest.cohorts["root"])
    return forest


def accumulate(cohort: CohortNode[QuotaNode]) -> None:
    cohort.subtree_quota = {CPU: cohort.quotas[CPU].nominal}
    for child in cohort.child_cohorts.values():
        accumulate(child)
        cohort.add_child(child)
    for queue in cohort.child_queues.values():
        cohort.add_child(queue)


def test_what_is_available_is_a_chain_of_minima() -> None:
    forest = build_tree()
    root, cohort = forest.cohorts["root"], forest.cohorts["m"]
    nodes = {"root": root, "m": cohort, **forest.queues}
    assert {name: node.subtree(CPU) // 1000 for name, node in nodes.items()} == {
        "root": 22, "m": 12, "a": 10, "b": 4, "c": 6,
    }  # fmt: skip
    assert {name: node.available(CPU) // 1000 for name, node in nodes.items()} == {
        "root": 16, "m": 11, "a": 12, "b": 1, "c": 16,
    }  # fmt: skip
    assert {name: node.potential_available(CPU) // 1000 for name, node in nodes.items()} == {
        "root": 22, "m": 17, "a": 21, "b": 7, "c": 22,
    }  # fmt: skip


def test_a_share_counts_what_is_borrowed_of_what_could_be() -> None:
    forest = build_tree()
    share = compute_share(forest.queues["b"])
    assert (share.text[:7], share.rounded, share.resource) == ("117.647", 118, "cpu")
    assert compute_share(forest.cohorts["m"]).value == compute_share(forest.queues["c"]).value == 0


def test_usage_beyond_the_local_quota_counts_against_the_parent_until_it_is_removed() -> None:
    forest = build_tree()
    queue, cohort = forest.queues["a"], forest.cohorts["m"]
    queue.add_usage(CPU, 2000)
    assert (queue.used(CPU), cohort.used(CPU)) == (5000, 7000)
    queue.remove_usage(CPU, 2000)
    assert (queue.used(CPU), cohort.used(CPU)) == (3000, 6000)


def test_the_borrow_level_is_the_height_of_the_tree_that_lends() -> None:
    forest = build_tree()
    assert find_lowest_fit(forest.queues["a"], CPU, 7000) == (0, True)
    assert find_lowest_fit(forest.queues["c"], CPU, 8000) == (2, False)


def test_a_ring_of_cohorts_is_seen() -> None:
    forest: QuotaForest[QuotaNode] = QuotaForest()
    for name, parent in (("a", "b"), ("b", "a")):
        forest.add_cohort(name)
        forest.move_cohort(name, parent)
    assert forest.cohorts["a"].has_cycle


def test_unlimited_amounts_stay_so() -> None:
    assert add_amounts(UNLIMITED, -1) == UNLIMITED
    assert subtract_amounts(UNLIMITED, 5) == UNLIMITED
    assert subtract_amounts(UNLIMITED, UNLIMITED) == 0
    assert format_amount("cpu", UNLIMITED) == "<unlimited>"
    assert [format_amount("cpu", amount) for amount in (500, 2000, 1_000_000)] == ["500m", "2", "1k"]
    assert [format_amount("memory", amount) for amount in (2**30, 1500, 1000)] == ["1Gi", "1500", "1k"]
