"""The effect of a document that is not saved yet, on the demo cluster's pending pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters import selectors as clusters
from kschedweb.clusters import services as cluster_services
from kschedweb.dashboard.selectors import count_objects
from kschedweb.decisions import services as playground
from kschedweb.decisions.deciders import CLASSIC
from kschedweb.decisions.editing.effect import POD_LIMIT, compute_effect
from kschedweb.engine.releases import load
from kschedweb.policies import selectors, services
from tests.support.html import html_of

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_demo")]
PACK = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]
"""


def test_pods_that_would_move_are_named_with_both_nodes(admin: User, client_as: Callable[[str], Client]) -> None:
    cluster = cluster_services.demo_load(user=admin)
    snapshot = clusters.snapshot_current(clusters.cluster_get(cluster.name))
    assert snapshot is not None
    before = selectors.load_configuration(selectors.revision_get(selectors.policy_get("default")))
    after = load(PACK).configuration
    assert after is not None
    effect = compute_effect(snapshot, before, after)
    assert 0 < effect.asked <= min(effect.pods, POD_LIMIT)
    assert effect.moved
    for pod in effect.moved:
        key = f"{pod.namespace}/{pod.name}"
        old, new = (playground.explain_with(snapshot, key, side) for side in (before, after))
        assert old.chosen is not None
        assert (pod.before, pod.after) == (
            old.nodes[old.chosen],
            new.nodes[new.chosen] if new.chosen is not None else "",
        )
        assert pod.reason.plugin == "NodeResourcesFit"  # the only one whose arguments differ
        assert pod.reason.lead
    assert not compute_effect(snapshot, before, before).moved
    page = client_as("viewer").post(f"/policies/default/edit/effect/?cluster={cluster.name}", {"document": PACK})
    assert f"{len(effect.moved)} of {effect.asked} pending pod" in html_of(page)


UNGATED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {preEnqueue: {disabled: [{name: SchedulingGates}]}}}]
"""


def test_gated_pods_are_pending_ones_and_wait_unless_the_document_lets_them_go(admin: User) -> None:
    snapshot = cluster_services.demo_load(user=admin).snapshots.get()
    before = selectors.load_configuration(selectors.revision_get(selectors.policy_get("default")))
    counts = count_objects(snapshot)
    pack, ungated_configuration = (load(text).configuration for text in (PACK, UNGATED))
    assert pack is not None
    assert ungated_configuration is not None
    packing_effect = compute_effect(snapshot, before, pack)
    assert packing_effect.pods == packing_effect.asked == counts["waiting"] > counts["held"] > 0
    freeing_effect, gating_effect = (
        compute_effect(snapshot, before, ungated_configuration),
        compute_effect(snapshot, ungated_configuration, before),
    )
    assert len(freeing_effect.moved) == len(gating_effect.moved) == counts["held"]
    for forward, back in zip(freeing_effect.moved, gating_effect.moved, strict=True):
        assert (forward.before, forward.after) == (back.after, back.before)
        assert not forward.before
        assert forward.after
        assert forward.reason == back.reason
        assert forward.reason.plugin == "SchedulingGates"
        assert "scheduling gates" in back.message


def test_classic_policies_have_an_effect_as_well(admin: User, client_as: Callable[[str], Client]) -> None:
    cluster = cluster_services.demo_load(user=admin)
    snapshot = clusters.snapshot_current(clusters.cluster_get(cluster.name))
    assert snapshot is not None
    head = "kind: Policy\napiVersion: v1\npredicates: [{name: GeneralPredicates}]\n"
    spread = f"{head}priorities: [{{name: LeastRequestedPriority, weight: 1}}]\n"
    pack = f"{head}priorities: [{{name: MostRequestedPriority, weight: 1}}]\n"
    before, after = (
        selectors.load_algorithm(services.policy_create(name=name, document=document, author=admin).revisions.get())
        for name, document in (("spread", spread), ("pack", pack))
    )
    effect = compute_effect(snapshot, before, after, decider=CLASSIC)
    assert effect.moved
    assert not effect.failed
    for pod in effect.moved:
        key = f"{pod.namespace}/{pod.name}"
        old, new = (playground.explain_with(snapshot, key, configuration, CLASSIC) for configuration in (before, after))
        assert (pod.before, pod.after) == (old.node, new.node)
    assert not compute_effect(snapshot, before, before, decider=CLASSIC).moved
    page = client_as("viewer").post(f"/policies/spread/edit/effect/?cluster={cluster.name}", {"document": pack})
    assert f"{len(effect.moved)} of {effect.asked} pending pod" in html_of(page)
