from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from kschedweb.engine.autoscaling.offers.labels import WELL_KNOWN
from kschedweb.engine.autoscaling.offers.nodepool_validation import find_complaint
from kschedweb.engine.autoscaling.offers.nodepools import UNBOUNDED, NodePool
from kschedweb.engine.objects.json_access import ObjectError
from tests.engine.autoscaling.building import needs, pool

NOON = datetime.fromisoformat("2026-01-15T12:00:00Z").timestamp()


def budgeted(*budgets: dict[str, Any]) -> NodePool:
    return NodePool.from_json(pool(disruption={"budgets": list(budgets)}))


@pytest.mark.parametrize(
    ("budgets", "total", "allowed"),
    [
        ([{"nodes": "10%"}], 1, 1),
        ([{"nodes": "10%"}], 21, 3),
        ([{"nodes": "50%"}, {"nodes": "2"}], 10, 2),
        ([{"nodes": "0", "reasons": ["Empty"]}], 10, UNBOUNDED),
        ([], 10, UNBOUNDED),
        ([{"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}, {"nodes": "2"}], 10, 0),
        ([{"nodes": "0", "schedule": "0 20 * * *", "duration": "1h"}, {"nodes": "2"}], 10, 2),
        ([{"nodes": "0", "schedule": "0 12 * * *", "duration": "1m"}], 10, 0),
        ([{"nodes": "0", "schedule": "59 11 * * *", "duration": "1m"}], 10, UNBOUNDED),
    ],
)
def test_budgets_allow_the_least_of_those_that_are_active(
    budgets: list[dict[str, Any]], total: int, allowed: int
) -> None:
    assert budgeted(*budgets).allowed_disruptions(total, "Underutilized", NOON) == allowed


def test_what_the_definition_of_a_nodepool_defaults_is_defaulted() -> None:
    nodepool = NodePool.from_json(
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": {}}
    )
    assert (nodepool.policy, nodepool.consolidate_after) == ("WhenEmptyOrUnderutilized", 0.0)
    assert nodepool.allowed_disruptions(11, "Empty", NOON) == 2
    assert nodepool.all_labels == {"karpenter.sh/nodepool": "p", "karpenter.kwok.sh/kwoknodeclass": "default"}


@pytest.mark.parametrize(
    ("raw", "expected_error"),
    [
        ({"apiVersion": "karpenter.sh/v1beta1"}, "apiVersion: must be karpenter.sh/v1, is 'karpenter.sh/v1beta1'"),
        ({"apiVersion": None}, "apiVersion: must be karpenter.sh/v1"),
        ({"kind": "Provisioner"}, "kind: must be NodePool"),
        ({"metadata": {}}, "metadata.name: is missing"),
        (pool(weight=101), "spec.weight: must be 1 to 100, is 101"),
        (pool(limits={"cpu": "-1"}), "spec.limits.cpu: must not be negative"),
        (pool(disruption={"consolidationPolicy": "Never"}), "spec.disruption.consolidationPolicy: must be one of"),
        (pool(disruption={"consolidateAfter": "soon"}), "spec.disruption.consolidateAfter: time: invalid duration"),
        (pool(disruption={"budgets": [{"nodes": "101%"}]}), "spec.disruption.budgets[0].nodes: must be"),
        (
            pool(disruption={"budgets": [{"nodes": "1", "schedule": "x", "duration": "1h"}]}),
            "budgets[0].schedule: must",
        ),
        (pool(disruption={"budgets": [{"nodes": "1", "schedule": "@daily"}]}), "budgets[0].schedule: must be set with"),
        (pool("p", needs("k", "Near", "1")), "spec.template.spec.requirements[0].operator: must be one of In, NotIn"),
        (
            pool("p", needs("k", "In", "a", minValues=0)),
            "spec.template.spec.requirements[0].minValues: must be at least",
        ),
        (
            pool("p", needs("k", "Gt", "5"), needs("k", "Lt", "5")),
            "spec.template.spec.requirements[1]: k Exists <=4 and k Exists >=6 rule each other out",
        ),
        (
            pool("p", needs("k", "In", "a"), labels={"k": "b"}),
            "spec.template.metadata.labels.k: 'b' and the requirement k In [a] rule each other out",
        ),
    ],
)
def test_a_nodepool_that_cannot_be_is_refused_at_its_place(raw: dict[str, Any], expected_error: str) -> None:
    with pytest.raises(ObjectError) as refused:
        NodePool.from_json({**pool(), **raw})
    assert expected_error in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "expected_complaint"),
    [
        (pool(), ""),
        (pool("p", needs("karpenter.sh/nodepool", "In", "p")), 'invalid key: "karpenter.sh/nodepool" in requirements'),
        (pool("p", needs("karpenter.sh/other", "Exists")), "using label karpenter.sh/other is not allowed"),
        (pool("p", needs("karpenter.sh/capacity-type", "In", "cheap")), "no valid values found in [cheap] for"),
        (
            pool("p", needs("karpenter.sh/capacity-type", "In", "spot", "x", minValues=2)),
            "not enough valid values found",
        ),
        (pool("p", needs("k", "Gt", "1", "2")), "key k with operator Gt must have a single positive integer value"),
        (pool("p", needs("-k", "Exists")), "key -k is not a qualified name, name part must consist"),
        (pool("p", needs("k", "In", "a b")), "invalid value a b for key k, a valid label must be"),
        (pool(labels={"kubernetes.io/hostname": "h"}), 'invalid key name "kubernetes.io/hostname" in labels, using'),
        (
            pool(inner={"taints": [{"key": "t", "effect": "NoSchedule"}, {"key": "t", "effect": "NoSchedule"}]}),
            "duplicate taint Key/Effect pair t=NoSchedule",
        ),
        (pool(inner={"startupTaints": [{"key": "t", "effect": "Near"}]}), 'invalid value: "Near" in startupTaints'),
    ],
)
def test_a_nodepool_is_not_ready_for_what_karpenter_checks_while_it_runs(
    raw: dict[str, Any], expected_complaint: str
) -> None:
    complaint = find_complaint(NodePool.from_json(raw), WELL_KNOWN)
    assert complaint.startswith(expected_complaint) if not expected_complaint else expected_complaint in complaint
