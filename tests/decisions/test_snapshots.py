"""Clusters cached by a process: as many as fit, some of them however large, and of one all or nothing."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import services
from kschedweb.decisions.snapshots import AT_LEAST, CACHE_BYTES, engine_snapshot, has_read
from kschedweb.policies.models import Revision
from tests.engine.builders import node, pod


def test_the_largest_clusters_are_kept_too_and_the_one_used_longest_ago_leaves_whole(
    store_snapshot: Callable[..., Snapshot], revision: Revision
) -> None:
    services.clear_caches()
    large = [store_snapshot([node("a"), pod("p")], f"large-{number}") for number in range(AT_LEAST + 1)]
    for snapshot in large:
        snapshot.size = CACHE_BYTES
    first = weakref.ref(engine_snapshot(large[0]))
    for snapshot in large:
        assert services.summarize_pod(snapshot, revision, "default/p").node == "a"
    assert [has_read(snapshot) for snapshot in large] == [False, *[True] * AT_LEAST]
    assert first() is None


def test_small_ones_are_kept_by_the_dozen(store_snapshot: Callable[..., Snapshot]) -> None:
    services.clear_caches()
    small = [store_snapshot([node("a")], f"small-{number}") for number in range(30)]
    for snapshot in small:
        engine_snapshot(snapshot)
    assert all(map(has_read, small))
