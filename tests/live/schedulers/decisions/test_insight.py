"""What is kept of a live decision beside its columns: how scores came about, and what rejected nodes lacked."""

from __future__ import annotations

import pytest

from kschedweb.decisions import arithmetic
from kschedweb.decisions.case import Case
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.kept.explanation_bytes import pack_explanation, unpack_explanation
from kschedweb.decisions.kept.insight import BEST, NEAREST
from kschedweb.engine.live import JudgedPod
from kschedweb.live.schedulers.decisions import insight
from tests.live.schedulers.judging import judged


def decision(found: JudgedPod) -> Decision:
    return Decision(Case(found.snapshot, found.pod, found.scheduler, found.explanation, ""))


def test_scores_are_worked_out_as_the_playground_does_and_come_to_what_decided() -> None:
    found = judged("pending-00000")
    _, kept = unpack_explanation(pack_explanation(found.explanation, insight.insight_of(found)))
    page = decision(found)
    best = [found.explanation.nodes[node] for node in found.explanation.feasible[page.order[:BEST]]]
    assert list(kept.worked) == best
    for name in best:
        node = found.snapshot.index[name]
        place = found.explanation.feasible.tolist().index(node)
        for column in found.explanation.scores:
            one = kept.worked[name][column.plugin]
            assert one == arithmetic.explain_score(page, page.case, node, column.plugin)
            assert one.computed in (None, int(column.raw[place]))
    assert (kept.sentence, kept.miss) == ("", None)


def test_the_node_it_went_to_is_worked_out_also_where_many_share_its_total() -> None:
    found = judged("pending-00000")
    last = found.explanation.nodes[found.explanation.feasible[decision(found).order[-1]]]
    assert last in insight.insight_of(found, last).worked


def test_what_was_missing_stays_as_it_was_when_the_cluster_goes_on() -> None:
    found = judged("stuck")
    page = decision(found)
    title, miss = page.build_headline().title, page.nearest_miss()
    _, kept = unpack_explanation(pack_explanation(found.explanation, insight.insight_of(found)))
    found.snapshot.place_pod(found.snapshot.get_pod("default/pending-00000"), kept.miss.node if kept.miss else "")
    assert (kept.sentence, kept.miss) == (title, miss)
    assert len(kept.readings) == NEAREST
    assert all(reading.text for said in kept.readings.values() for reading in said.values())


def test_an_insight_that_fails_leaves_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged("pending-00000")

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(arithmetic, "explain_score", broken)
    assert insight.insight_of(found) == insight.Insight()


def test_it_takes_few_bytes_whatever_the_number_of_nodes() -> None:
    for pod in ("pending-00000", "stuck"):
        found = judged(pod, nodes=1000, pods=2000)
        assert (
            len(pack_explanation(found.explanation, insight.insight_of(found)))
            - len(pack_explanation(found.explanation))
            < 4_000
        )
