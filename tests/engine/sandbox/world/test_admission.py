"""Changes that admission makes to a pod, and its refusals in the API server's words."""

from __future__ import annotations

import pytest

from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.world.resources import PRIORITY_CLASS
from tests.engine.sandbox.living import Living, pod


def test_a_pod_gets_its_priority_and_tolerations() -> None:
    living = Living()
    living.create(PRIORITY_CLASS, {"metadata": {"name": "high"}, "value": 1000})
    spec = living.create(POD, pod("a", priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "PreemptLowerPriority")
    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_a_pod_of_an_unknown_class_is_refused() -> None:
    living = Living()
    with pytest.raises(ApiRefusal) as refused:
        living.create(POD, pod("a", priorityClassName="none"))
    assert refused.value.code == 403
    assert refused.value.message == 'pods "a" is forbidden: no PriorityClass with name none was found'


def test_what_an_api_server_would_refuse_is_refused_in_its_words() -> None:
    living = Living()
    spread = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    with pytest.raises(ApiRefusal) as refused:
        living.create(POD, pod("a", topologySpreadConstraints=[spread]))
    assert (refused.value.code, refused.value.message) == (
        422,
        'Pod "a" is invalid: spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    )
