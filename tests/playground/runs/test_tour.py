"""The answer that docs/tour.md gives to its question is what the comparison comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.services import demo_load
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.comparisons import measure_rows, moved_pods
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.policies.services import policy_create
from tests.support import seed_runs

pytestmark = pytest.mark.django_db
TOUR = (Path(__file__).parents[3] / "docs" / "tour.md").read_text(encoding="utf-8")
PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
"""
SCENARIO = """\
apiVersion: kschedweb/v1
kind: Scenario
name: A zone fails
base: {snapshot: %s}
changes: [{failZone: {zone: eu-west-1a}, at: 10m}]
run: {until: 1h}
"""


def test_the_tour_says_what_its_comparison_says(editor: User) -> None:
    snapshot = demo_load(user=editor).snapshots.latest("taken_at")
    policy_create(name="packing", document=PACKING, author=editor)
    scenario = scenario_create(text=SCENARIO % snapshot.pk, author=editor)
    revision = selectors.revision_asked(editor, str(scenario.pk))
    comparison_started = services.comparison_start(
        user=editor, revision=revision, policies=["default", "packing"], seeds=[1]
    )
    seed_runs.work_off()
    comparison = selectors.comparison_get(editor, comparison_started.pk)
    sides, differences = measure_rows.list_sides(comparison), list(selectors.difference_list(comparison))
    lines = measure_rows.compare_measures(sides, differences)
    moved_list = moved_pods.MovedList(differences, 1, moved_pods.ANY)
    assert f"“{measure_rows.comparison_sentence(sides, lines, moved_list.first_count, moved_list.pods)}”" in TOUR
    changes = {line.measure.name: line.changes[0].measure_change for line in lines}
    assert changes["unscheduled"].change == -1
    assert "One pod fewer is left without a node" in TOUR
    assert not any(changes[name].differs for name in ("evictions", "preemptions", "disruptions"))
    assert "evictions, preemptions and disruptions beyond budgets do not differ" in TOUR
    hours, empty, spread = (changes[name] for name in ("node_hours_used", "nodes_empty", "spread_cpu"))
    assert hours.before
    assert f"saves {-100 * hours.change / hours.before:.0f} % of the node-hours in use" in TOUR
    assert f"at the end {empty.after:g} nodes are empty instead of {empty.before:g}" in TOUR
    assert spread.before
    assert spread.after
    assert 2 < spread.after / spread.before < 3
    assert "the spread of CPU requests more than doubles" in TOUR
    assert (
        moved_list.sum_counts("newlyUnscheduled") - moved_list.sum_counts("newlyScheduled")
        == changes["unscheduled"].change
    )
