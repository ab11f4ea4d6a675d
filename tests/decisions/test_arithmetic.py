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

from .conftest import HEAD, MOST_ALLOCATED, RATIO

# Those of the default plugins that are worked out.
EXPLAINED_PLUGINS = {
    ref.name for ref in CURRENT.in_tree_plugins.defaults if type(get_presenter(ref.name)).work is not Presenter.work
}


def decisions(snapshot: Snapshot, revision: Revision) -> list[Decision]:
    """Every pending pod that fits, and some bound ones of every owner."""
    owners: set[str] = set()
    collected = []
    for pod in PodRow.objects.filter(snapshot=snapshot):
        if pod.owner in owners and not pod.pending:
            continue
        owners.add(pod.owner)
        decision = Decision(services.decide_pod(snapshot, f"{pod.namespace}/{pod.name}", revision))
        if decision.explanation.feasible.size:
            collected.append(decision)
    return collected


@pytest.mark.parametrize(
    "document", [HEAD, MOST_ALLOCATED, RATIO], ids=["defaults", "MostAllocated", "RequestedToCapacityRatio"]
)
def test_the_steps_come_to_the_score_of_the_engine(
    demo: Snapshot, policy: Callable[[str, str], Revision], document: str
) -> None:
    revision = policy("other", document)
    checks_by_plugin: Counter[str] = Counter()
    for decision in decisions(demo, revision):
        for column in decision.explanation.scores:
            if column.plugin not in EXPLAINED_PLUGINS:
                continue
            for index, node in enumerate(decision.explanation.feasible[:12].tolist()):
                explained = arithmetic.explain_score(decision, decision.case, node, column.plugin)
                context = f"{decision.case.pod.key} {column.plugin} {explained.node}"
                if explained.computed is not None:
                    assert explained.computed == int(column.raw[index]), context
                    checks_by_plugin[column.plugin] += 1
                assert explained.steps[-2].result == str(int(column.weighted[index])), context
                assert explained.steps[-3].result == str(int(column.normalized[index])), context
    assert set(checks_by_plugin) == EXPLAINED_PLUGINS
    assert min(checks_by_plugin.values()) > 10


def test_a_rejected_node_and_an_unknown_plugin_say_why_there_is_no_score(demo: Snapshot, revision: Revision) -> None:
    decision = Decision(services.decide_pod(demo, "ml/notebook", revision))
    rejected_node = decision.list_positions("TaintToleration")[0]
    assert "was rejected" in arithmetic.explain_score(decision, decision.case, rejected_node, "NodeResourcesFit").error
    assert "scored no node" in arithmetic.explain_score(decision, decision.case, rejected_node, "NoSuchPlugin").error


def test_the_spread_of_the_alias_is_worked_out_as_that_of_the_plugin(
    demo: Snapshot, policy: Callable[[str, str], Revision]
) -> None:
    points = "[{name: PodTopologySpread}]"
    plugins = f"multiPoint: {{disabled: {points}, enabled: [{{name: HkePodTopologySpread}}]}}"
    revision = policy("alias", f"{HEAD}profiles: [{{plugins: {{{plugins}}}}}]\n")
    comparisons = 0
    for decision in decisions(demo, revision):
        for column in decision.explanation.scores:
            for index, node in enumerate(decision.explanation.feasible[:3].tolist()):
                if column.plugin == "HkePodTopologySpread":
                    explained = arithmetic.explain_score(decision, decision.case, node, column.plugin)
                    assert explained.computed == int(column.raw[index])
                    comparisons += 1
    assert comparisons > 10


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
