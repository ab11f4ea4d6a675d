"""The reports of a run and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from django.utils import timezone

from kschedweb.engine.json_types import Json
from kschedweb.playground.reports.content import (
    MOST_NOTES,
    MOST_ROWS,
    Listing,
    ReportContent,
    ReportDocument,
    measure_row,
)
from kschedweb.playground.runs import (
    charts,
    measures,
    selectors,
)
from kschedweb.playground.runs.comparisons import (
    charts as comparison_charts,
)
from kschedweb.playground.runs.comparisons import (
    measure_rows,
    moved_pods,
    significance,
)
from kschedweb.playground.runs.family_charts import ChartedRun, FamilyChart, family_charts
from kschedweb.playground.runs.maps import (
    frames,
    nodes,
)
from kschedweb.playground.runs.pod_rows import MoveList, PodList
from kschedweb.playground.runs.reports import (
    provenance,
)
from kschedweb.playground.runs.tables import MOVED
from kschedweb.web.durations import format_duration, format_range
from kschedweb.web.errors import Conflict

if TYPE_CHECKING:
    from kschedweb.playground.runs.comparisons.measure_rows import ComparedPolicy, MeasureRow
    from kschedweb.playground.runs.models import Comparison, Run
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.web.figures import Chart


@dataclass
class RunReportContent(ReportContent):
    """The report of a run or a comparison."""

    template: ClassVar[str] = "playground/runs/report.html"

    # The measures of a run by group.
    measure_groups: list[measures.MeasureGroup] = field(default_factory=list)
    # Filled for comparisons only, as are sides and groups.
    lines: list[MeasureRow] = field(default_factory=list)
    sides: list[ComparedPolicy] = field(default_factory=list)
    groups: list[measure_rows.MovedByPlugin] = field(default_factory=list)
    families: list[tuple[FamilyChart, list[tuple[MeasureRow, Chart]]]] = field(default_factory=list)
    seeds_said: str = ""

    @property
    def same(self) -> list[MeasureRow]:
        """The measures that do not differ."""
        return [line for line in self.lines if not line.differs]

    @property
    def measured(self) -> list[measure_rows.RowGroup]:
        """The measures that differ, by group."""
        return measure_rows.group_rows(self.lines)


def run_report(run: Run, address: str) -> RunReportContent:
    """Return the report of a run; ``address`` is its page. Raise Conflict if the run is not done."""
    outcome = selectors.load_outcome(run)
    run_measures = measures.list_measures(run)
    charted = ChartedRun(run.label, outcome, {measure.name: measure for measure in run_measures})
    report = _start_report("run", f"run-{run.pk}", measures.run_sentence(run, outcome), address, run.revision, [run])
    report.families = [(family, []) for family in family_charts([charted])]
    if outcome.nodes:
        at = frames.frame_times(outcome.end, len(outcome.nodes))
        over = frames.Frames(at, outcome.nodes, nodes.map_values(outcome, "cpu", at))
        heat = charts.heatmap_chart(over, frames.heatmap_rows(over), nodes.list_shows(outcome)["cpu"], outcome.end)
        report.maps = [("heatmap", "Nodes over time", heat)]
    report.table, report.measure_groups = (
        [_measure_json(measure, [(run, measure.value)]) for measure in run_measures],
        measures.by_group(run_measures),
    )
    waiting, forced = PodList(outcome, outcome.end, state="waiting"), MoveList(outcome, forced=True)
    report.listings = [
        Listing(
            "waiting",
            "Pods without a node at the end",
            ["pod", "arrived (s)", "tries", "last message"],
            [[row.key, row.arrived, row.attempts, row.message] for row in waiting[:MOST_ROWS]],
            len(waiting),
            "Every pod has a node.",
        ),
        Listing(
            "forced",
            "Pods that had to leave",
            ["pod", "time (s)", "what happened", "node", "why"],
            [[row.pod, row.time, row.kind, row.node, row.text] for row in forced[:MOST_ROWS]],
            len(forced),
            "No pod was preempted or evicted, none failed, and none lost its node.",
        ),
    ]
    return report


def comparison_report(comparison: Comparison, address: str) -> RunReportContent:
    """Return the report of a comparison. Raise Conflict while its runs go on, or if the reference has none."""
    sides = measure_rows.list_sides(comparison)
    differences = list(selectors.difference_list(comparison))
    lines = measure_rows.compare_measures(sides, differences)
    if not measure_rows.is_ready(comparison):
        raise Conflict("The report is available once all runs have ended.")
    if not lines:
        raise Conflict("No run of the reference finished, so there is nothing to report.")
    finished_runs = [run for side in sides for run in side.runs.values()]
    listed = [moved_pods.MovedList(differences, side.position, moved_pods.ANY) for side in sides[1:]]
    first = listed[0] if listed else None
    sentence = measure_rows.comparison_sentence(
        sides, lines, first.first_count if first else None, first.pods if first else 0
    )
    report = _start_report(
        "comparison",
        f"comparison-{comparison.pk}",
        sentence or comparison.title,
        address,
        comparison.revision,
        finished_runs,
    )
    charted = [
        ChartedRun(
            side.label,
            selectors.load_outcome(side.first),
            {measure.name: measure for measure in measures.list_measures(side.first)},
        )
        for side in sides
        if side.first
    ]
    strips = {line.measure.name: (line, comparison_charts.strip_chart(line, sides)) for line in lines}
    if charted:
        report.families = [
            (family, [strips[measure.name] for measure in family.measures if strips[measure.name][0].differs])
            for family in family_charts(charted)
        ]
    report.sides, report.lines = sides, lines
    report.groups = measure_rows.moved_by_plugin([counts for moved_list in listed for counts in moved_list.counts])
    report.table = [
        _measure_json(line.measure, [(side.runs[seed], value) for side, values in zip(sides, line.values, strict=True)
                                for seed, value in values.items()])
        for line in lines
    ]  # fmt: skip
    report.listings = [_moved_listing(moved_list, side) for moved_list, side in zip(listed, sides[1:], strict=True)]
    report.seeds_said = significance.seed_advice(
        significance.random_inputs(comparison.revision.document), sides[0].total if sides else 0
    )
    undone = [run for run in comparison.runs.all() if run.ended_at is None]
    report.notes += [f"the run under {run.label} with seed {run.seed} failed" for run in undone]
    report.plain["name"] = comparison.title
    return report


def _moved_listing(listed: moved_pods.MovedList, side: ComparedPolicy) -> Listing:
    return Listing(
        f"moved under {side.label}",
        f"Pods that go elsewhere under {side.label}",
        ["pod", "what", "reference node", "node", "by plugin", "lead (points)", "said", "follows others", "seed"],
        [MOVED.export_row(row)[:9] for row in listed[:MOST_ROWS]],
        len(listed),
        "No pod goes elsewhere.",
    )


def _measure_json(measure: measures.RunMeasure, values: Sequence[tuple[Run, float | None]]) -> Json:
    """Return a measure with its value in each run."""
    return measure_row(
        measure,
        [
            {"policy": run.label, "seed": run.seed, "value": value, "text": measures.format_amount(measure, value)}
            for run, value in values
        ],
    )


def _start_report(
    kind: str, stem: str, title: str, address: str, revision: ScenarioRevision, runs: Sequence[Run]
) -> RunReportContent:
    """Return the common part of reports: the origin, and what was simulated."""
    document, made_at = revision.document, timezone.now()
    # Reversed, so that the first run of each policy stays.
    by_policy = {run.label: run for run in reversed(runs)}
    policies = list(dict.fromkeys(run.label for run in runs))
    configurations = [selectors.load_configuration(by_policy[name]) for name in policies]
    gates = provenance.describe_gates(configurations)
    start, notes = provenance.read_base(revision), list(dict.fromkeys(note for run in runs for note in run.notes))
    return RunReportContent(
        kind=kind,
        stem=stem,
        title=title,
        address=address,
        made_at=made_at,
        facts=_list_facts(revision, start, policies, runs, gates),
        simulated=provenance.list_simulated(document),
        omitted=provenance.list_omitted(document, configurations),
        notes=notes[:MOST_NOTES],
        notes_total=len(notes),
        plain=_plain_fields(revision, start, policies, runs, gates),
        listings=[],
        documents=[
            ReportDocument.from_text("Scenario", revision.text),
            *(ReportDocument.from_text(f"Policy {name}", by_policy[name].configuration) for name in policies),
        ],
    )


def _list_facts(
    revision: ScenarioRevision, start: provenance.BaseCluster, policies: list[str], runs: Sequence[Run], gates: str
) -> list[tuple[str, str]]:
    """Return the table at the top of a report as (name, words)."""
    document, seeds = revision.document, _list_seeds(runs)
    ends = sorted(run.virtual_seconds for run in runs if run.virtual_seconds is not None)
    simulated = format_range(format_duration(ends[0]), format_duration(ends[-1])) if ends else "–"
    return [
        ("Scenario", f"{revision.scenario.name}, revision {revision.number}"),
        ("Question", str(document.get("description") or "").strip() or "–"),
        ("Cluster", start.words),
        ("Policies" if len(policies) > 1 else "Policy", ", ".join(policies)),
        (
            "Seeds" if len(seeds) > 1 else "Seed",
            f"{', '.join(map(str, seeds))}; {provenance.describe_randomness(document)}",
        ),
        ("Pods", provenance.describe_placing(document)),
        ("Real use", provenance.describe_use(document)),
        ("Time simulated", simulated),
        ("Engine", _made_by(runs)),
        ("Feature gates", gates),
        ("Runs done", provenance.format_moment(max(run.ended_at for run in runs if run.ended_at)) if runs else "–"),
    ]


def _plain_fields(
    revision: ScenarioRevision, start: provenance.BaseCluster, policies: list[str], runs: Sequence[Run], gates: str
) -> Json:
    """Return the common part for JSON."""
    return {
        "scenario": {
            "id": str(revision.scenario_id),
            "name": revision.scenario.name,
            "revision": revision.number,
            "description": str(revision.document.get("description") or ""),
        },
        "base": {
            "snapshot": start.snapshot or None,
            "cluster": start.cluster or None,
            "taken_at": start.taken_at.isoformat() if start.taken_at else None,
        },
        "policies": policies,
        "seeds": _list_seeds(runs),
        "seed_decides": significance.random_inputs(revision.document),
        "engine": measure_rows.list_engines(runs),
        "feature_gates": gates,
        "runs": [
            {
                "id": str(run.pk),
                "policy": run.label,
                "seed": run.seed,
                "virtual_seconds": run.virtual_seconds,
                "seconds": run.seconds,
                "ended_at": run.ended_at.isoformat() if run.ended_at else None,
                "engine": run.engine,
            }
            for run in runs
        ],
    }


def _list_seeds(runs: Sequence[Run]) -> list[int]:
    return sorted({run.seed for run in runs})


def _made_by(runs: Sequence[Run]) -> str:
    """Return the engines of the runs, with their policies if not all runs have the same engine."""
    engines = measure_rows.list_engines(runs)
    if len(engines) < 2:
        return ", ".join(engines)
    labels = {engine: ", ".join(dict.fromkeys(run.label for run in runs if run.engine == engine)) for engine in engines}
    return "; ".join(f"{engine}: {labels[engine]}" for engine in engines)
