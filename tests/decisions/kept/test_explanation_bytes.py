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


def explained(pod: str, nodes: int = 30, pods: int = 60) -> Explanation:
    snapshot = Snapshot.from_objects(seed.cluster(nodes, pods))
    configuration = load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n").configuration
    assert configuration is not None
    return Scheduler(snapshot, configuration).explain(snapshot.get_pod(f"default/{pod}"), preemption=True)


@pytest.mark.parametrize("pod", ["pending-00000", "stuck"])
def test_what_was_packed_comes_back_to_the_last_score(pod: str) -> None:
    found = explained(pod)
    again, insight = unpack_explanation(pack_explanation(found))
    assert insight == Insight()
    assert again.to_dict() == found.to_dict()
    assert again.pre_enqueue == found.pre_enqueue
    assert again.post_filter == found.post_filter
    assert [again.verdict_at(node) for node in range(30)] == [found.verdict_at(node) for node in range(30)]
    assert [column.skipped for column in again.filters] == [column.skipped for column in found.filters]


def test_what_was_kept_before_statuses_carried_facts_is_read_as_well() -> None:
    found = explained("stuck")
    packed = zlib.decompress(pack_explanation(found))
    text, _, rest = packed.partition(b"\n")
    head = json.loads(text)
    del head["facts"]
    again, _ = unpack_explanation(zlib.compress(b"\n".join((json.dumps(head).encode(), rest))))
    assert again.to_dict() == found.to_dict()
    status = again.verdict_at(0)
    assert status is not None
    assert (status.message, status.facts) == ("Insufficient cpu", ())


def test_what_lies_outside_the_simulation_is_kept_with_what_it_depends_on() -> None:
    found = explained("stuck")
    found.pre_filter = outside_simulation("a claim").with_plugin("VolumeBinding")
    assert unpack_explanation(pack_explanation(found))[0].pre_filter == found.pre_filter


def test_a_fact_of_several_values_comes_back_equal() -> None:
    found = explained("stuck")
    found.pre_filter = unschedulable("above", fact=Threshold("cpu", True))
    assert unpack_explanation(pack_explanation(found))[0].pre_filter == found.pre_filter


def test_a_thousand_nodes_take_few_bytes() -> None:
    assert len(pack_explanation(explained("pending-00000", nodes=1000, pods=2000))) < 20_000


@pytest.mark.parametrize("data", [b"", b"text", zlib.compress(b"[]\n"), zlib.compress(b'{"version":2}\n')])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no explanation|form 2"):
        unpack_explanation(data)
