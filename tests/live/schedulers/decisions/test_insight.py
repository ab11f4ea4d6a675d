"""Details stored with a live decision's columns: the sources of scores, and the shortages of rejected nodes."""

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


def decision(judged_pod: JudgedPod) -> Decision:
    return Decision(Case(judged_pod.snapshot, judged_pod.pod, judged_pod.scheduler, judged_pod.explanation, ""))


def test_scores_are_worked_out_as_the_playground_does_and_come_to_what_decided() -> None:
    judged_pod = judged("pending-00000")
    _, stored = unpack_explanation(pack_explanation(judged_pod.explanation, insight.insight_of(judged_pod)))
    page = decision(judged_pod)
    best = [judged_pod.explanation.nodes[node] for node in judged_pod.explanation.feasible[page.order[:BEST]]]
    assert list(stored.worked) == best
    for name in best:
        node = judged_pod.snapshot.index[name]
        place = judged_pod.explanation.feasible.tolist().index(node)
        for column in judged_pod.explanation.scores:
            arithmetic_of_score = stored.worked[name][column.plugin]
            assert arithmetic_of_score == arithmetic.explain_score(page, page.case, node, column.plugin)
            assert arithmetic_of_score.computed in (None, int(column.raw[place]))
    assert (stored.sentence, stored.miss) == ("", None)


def test_the_node_it_went_to_is_worked_out_also_where_many_share_its_total() -> None:
    judged_pod = judged("pending-00000")
    last = judged_pod.explanation.nodes[judged_pod.explanation.feasible[decision(judged_pod).order[-1]]]
    assert last in insight.insight_of(judged_pod, last).worked


def test_what_was_missing_stays_as_it_was_when_the_cluster_goes_on() -> None:
    judged_pod = judged("stuck")
    page = decision(judged_pod)
    title, miss = page.build_headline().title, page.nearest_miss()
    _, stored = unpack_explanation(pack_explanation(judged_pod.explanation, insight.insight_of(judged_pod)))
    judged_pod.snapshot.place_pod(
        judged_pod.snapshot.get_pod("default/pending-00000"), stored.miss.node if stored.miss else ""
    )
    assert (stored.sentence, stored.miss) == (title, miss)
    assert len(stored.readings) == NEAREST
    assert all(reading.text for by_plugin in stored.readings.values() for reading in by_plugin.values())


def test_an_insight_that_fails_leaves_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_pod = judged("pending-00000")

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(arithmetic, "explain_score", broken)
    assert insight.insight_of(judged_pod) == insight.Insight()


def test_it_takes_few_bytes_whatever_the_number_of_nodes() -> None:
    for pod in ("pending-00000", "stuck"):
        judged_pod = judged(pod, nodes=1000, pods=2000)
        assert (
            len(pack_explanation(judged_pod.explanation, insight.insight_of(judged_pod)))
            - len(pack_explanation(judged_pod.explanation))
            < 4_000
        )
