"""Explanations as bytes."""

from __future__ import annotations

import json
import zlib

import pytest

from kschedweb.decisions.kept.explanation_bytes import pack_explanation, unpack_explanation
from kschedweb.decisions.kept.insight import Insight
from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import outside_simulation, unschedulable
from kschedweb.engine.plugins.loadawarescheduling import Threshold
from kschedweb.engine.releases import load
from tests.support import seed


def explain(pod: str, nodes: int = 30, pods: int = 60) -> Explanation:
    snapshot = Snapshot.from_objects(seed.cluster(nodes, pods))
    configuration = load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n").configuration
    assert configuration is not None
    return Scheduler(snapshot, configuration).explain(snapshot.get_pod(f"default/{pod}"), preemption=True)


@pytest.mark.parametrize("pod", ["pending-00000", "stuck"])
def test_what_was_packed_comes_back_to_the_last_score(pod: str) -> None:
    explanation = explain(pod)
    unpacked, insight = unpack_explanation(pack_explanation(explanation))
    assert insight == Insight()
    assert unpacked.to_dict() == explanation.to_dict()
    assert unpacked.pre_enqueue == explanation.pre_enqueue
    assert unpacked.post_filter == explanation.post_filter
    assert [unpacked.verdict_at(node) for node in range(30)] == [explanation.verdict_at(node) for node in range(30)]
    assert [column.skipped for column in unpacked.filters] == [column.skipped for column in explanation.filters]


def test_what_was_kept_before_statuses_carried_facts_is_read_as_well() -> None:
    explanation = explain("stuck")
    payload = zlib.decompress(pack_explanation(explanation))
    text, _, columns = payload.partition(b"\n")
    head = json.loads(text)
    del head["facts"]
    unpacked, _ = unpack_explanation(zlib.compress(b"\n".join((json.dumps(head).encode(), columns))))
    assert unpacked.to_dict() == explanation.to_dict()
    status = unpacked.verdict_at(0)
    assert status is not None
    assert (status.message, status.facts) == ("Insufficient cpu", ())


def test_what_lies_outside_the_simulation_is_kept_with_what_it_depends_on() -> None:
    explanation = explain("stuck")
    explanation.pre_filter = outside_simulation("a claim").with_plugin("VolumeBinding")
    assert unpack_explanation(pack_explanation(explanation))[0].pre_filter == explanation.pre_filter


def test_a_fact_of_several_values_comes_back_equal() -> None:
    explanation = explain("stuck")
    explanation.pre_filter = unschedulable("above", fact=Threshold("cpu", True))
    assert unpack_explanation(pack_explanation(explanation))[0].pre_filter == explanation.pre_filter


def test_a_thousand_nodes_take_few_bytes() -> None:
    assert len(pack_explanation(explain("pending-00000", nodes=1000, pods=2000))) < 20_000


@pytest.mark.parametrize("data", [b"", b"text", zlib.compress(b"[]\n"), zlib.compress(b'{"version":2}\n')])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no explanation|form 2"):
        unpack_explanation(data)
