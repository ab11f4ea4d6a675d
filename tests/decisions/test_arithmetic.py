"""The arithmetic shown for a cell comes to the engine's own score, for every plugin that is worked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import arithmetic, services
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.presenters import get_presenter
from kschedweb.decisions.presenters.base import Presenter
from kschedweb.engine.releases import CURRENT
from kschedweb.policies.models import Revision

from .conftest import HEAD, MOST, RATIO

# Those of the default plugins that are worked out.
WORKED = {
    ref.name for ref in CURRENT.in_tree_plugins.defaults if type(get_presenter(ref.name)).work is not Presenter.work
}


def decisions(snapshot: Snapshot, revision: Revision) -> list[Decision]:
    """Every pending pod that fits, and some bound ones of every owner."""
    owners: set[str] = set()
    found = []
    for pod in PodRow.objects.filter(snapshot=snapshot):
        if pod.owner in owners and not pod.pending:
            continue
        owners.add(pod.owner)
        decision = Decision(services.decide_pod(snapshot, f"{pod.namespace}/{pod.name}", revision))
        if decision.explanation.feasible.size:
            found.append(decision)
    return found


@pytest.mark.parametrize("document", [HEAD, MOST, RATIO], ids=["defaults", "MostAllocated", "RequestedToCapacityRatio"])
def test_the_steps_come_to_the_score_of_the_engine(
    demo: Snapshot, policy: Callable[[str, str], Revision], document: str
) -> None:
    revision = policy("other", document)
    checked: Counter[str] = Counter()
    for decision in decisions(demo, revision):
        for column in decision.explanation.scores:
            if column.plugin not in WORKED:
                continue
            for index, node in enumerate(decision.explanation.feasible[:12].tolist()):
                shown = arithmetic.explain_score(decision, decision.case, node, column.plugin)
                where = f"{decision.case.pod.key} {column.plugin} {shown.node}"
                if shown.computed is not None:
                    assert shown.computed == int(column.raw[index]), where
                    checked[column.plugin] += 1
                assert shown.steps[-2].result == str(int(column.weighted[index])), where
                assert shown.steps[-3].result == str(int(column.normalized[index])), where
    assert set(checked) == WORKED
    assert min(checked.values()) > 10


def test_a_rejected_node_and_an_unknown_plugin_say_why_there_is_no_score(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "ml/notebook", revision))
    rejected = decision.list_positions("TaintToleration")[0]
    assert "was rejected" in arithmetic.explain_score(decision, decision.case, rejected, "NodeResourcesFit").error
    assert "scored no node" in arithmetic.explain_score(decision, decision.case, rejected, "NoSuchPlugin").error


def test_the_spread_of_the_alias_is_worked_out_as_that_of_the_plugin(
    demo: Snapshot, policy: Callable[[str, str], Revision]
) -> None:
    points = "[{name: PodTopologySpread}]"
    plugins = f"multiPoint: {{disabled: {points}, enabled: [{{name: HkePodTopologySpread}}]}}"
    revision = policy("alias", f"{HEAD}profiles: [{{plugins: {{{plugins}}}}}]\n")
    compared = 0
    for decision in decisions(demo, revision):
        for column in decision.explanation.scores:
            for index, node in enumerate(decision.explanation.feasible[:3].tolist()):
                if column.plugin == "HkePodTopologySpread":
                    shown = arithmetic.explain_score(decision, decision.case, node, column.plugin)
                    assert shown.computed == int(column.raw[index])
                    compared += 1
    assert compared > 10


def test_total_rank_and_margin_end_the_steps(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "ml/notebook", revision))
    best, second = (int(decision.explanation.feasible[index]) for index in decision.order[:2])
    first = arithmetic.explain_score(decision, decision.case, best, "NodeResourcesFit").steps[-1]
    behind = decision.rows([second])[0].place
    assert behind is not None
    margin = int(decision.explanation.total.max()) - behind.total
    assert first.label.startswith("Total, rank 1 of ")
    assert first.result == str(int(decision.explanation.total.max()))
    assert f"{margin} ahead of the next" in first.formula
    assert (
        f"{margin} behind the best"
        in arithmetic.explain_score(decision, decision.case, second, "NodeResourcesFit").steps[-1].formula
    )
