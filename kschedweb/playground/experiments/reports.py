"""The report of an experiment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.engine.experiment import Setup
from kschedweb.engine.experiment.policies import DEFAULT, FUTURE, list_policies
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.measure.groups import BALANCE, RUN
from kschedweb.engine.studies.measure.values import LOWER, NEITHER, PERCENT, PODS, POINTS
from kschedweb.playground.experiments import charts, selectors
from kschedweb.playground.experiments.repeating import RepeatCommand, repeat_command
from kschedweb.playground.reports.content import MOST_NOTES, Listing, ReportContent, ReportDocument, measure_row
from kschedweb.web.durations import format_duration
from kschedweb.web.errors import Conflict

if TYPE_CHECKING:
    from kschedweb.engine.studies.measure.spec import SpecGroup
    from kschedweb.playground.experiments.models import Experiment, Run
    from kschedweb.playground.experiments.selectors import PolicySeries

SIMULATED = (
    "kube-scheduler's queue, scheduling cycles and binding cycles of every pod on a virtual clock, and its plugins' "
    "memory of pods that came since nodes were measured",
    "pods of deployments that each follow one recorded machine; they depend on recording and seed alone, so every "
    "policy gets the same pods at the same times",
    "CPU that pods share on a full node: each gets what it requests, and a part of the rest",
    "measurements of the nodes at the set interval",
)
OMITTED = (
    "kubelets, the API server and the network: a pod runs as soon as it has its node",
    "controllers, autoscalers, the descheduler and people: no pod is moved, and no node comes or goes",
)
ORACLE = "The oracle is no kube-scheduler: it knows all use ahead, and places each pod greedily"
MEMORY = "use of memory: the recording has CPU alone"


@dataclass(frozen=True)
class ExperimentMeasure:
    """A measure of a run of an experiment."""

    # In the results of a run.
    name: str
    label: str
    unit: str
    sentence: str
    group: SpecGroup = BALANCE
    direction: str = LOWER
    # Times which the result is in ``unit``.
    factor: float = 1.0

    def value_of(self, measures: Json) -> float:
        return round(float(measures[self.name]) * self.factor, 4)


MEASURES = (
    ExperimentMeasure("skew", "Skew", POINTS, "The most used node minus the least used, in CPU of an hour: the mean."),
    ExperimentMeasure("worst_skew", "Worst skew", POINTS, "The same at its highest."),
    ExperimentMeasure("deviation", "Standard deviation", POINTS, "Of the nodes' use: the mean over time."),
    ExperimentMeasure("variation", "Coefficient of variation", "", "The standard deviation over the mean use."),
    ExperimentMeasure("mean", "Mean use", PERCENT, "Of all nodes over time.", direction=NEITHER),
    ExperimentMeasure("hottest", "Hottest node", PERCENT, "The highest use of any node in any hour."),
    ExperimentMeasure("high", "Node hours above 80 %", PERCENT, "Of all node hours.", factor=100.0),
    ExperimentMeasure("short", "Pod hours short of CPU", PERCENT, "Of all pod hours.", RUN, factor=100.0),
    ExperimentMeasure("unserved", "CPU not served", "core hours", "What pods wanted and did not get.", RUN),
    ExperimentMeasure("pods", "Pods", PODS, "All that arrived.", RUN, NEITHER),
    ExperimentMeasure("placed", "Pods with a node", PODS, "All that were bound.", RUN, "higher"),
)
HEAD = ["policy", "seeds", "skew (points)", "relative to default (%)", "worst skew (points)", "hottest node (%)"]


def experiment_report(experiment: Experiment, address: str) -> ReportContent:
    """Return the report of an experiment; ``address`` is its page. Raise Conflict while its runs go on, or without
    one."""
    if not experiment.has_ended:
        raise Conflict("The report is available once all runs have ended.")
    series, runs = selectors.list_series(experiment), selectors.run_list(experiment)
    if not series:
        raise Conflict("No run finished, so there is nothing to report.")
    setup, command = Setup.from_values(experiment.setup), repeat_command(experiment)
    best = min(series, key=lambda item: item.measures["skew"])
    title = gettext("%(best)s: %(skew)s points of skew") % {
        "best": selectors.policy_label(best.policy), "skew": f"{best.measures['skew']:.1f}",
    }  # fmt: skip
    notes = _list_notes(experiment, runs)
    return ReportContent(
        kind="experiment",
        stem=f"experiment-{experiment.pk}",
        title=title,
        address=address,
        made_at=timezone.now(),
        facts=_list_facts(experiment, setup, series),
        simulated=list(SIMULATED),
        omitted=[*OMITTED, *([MEMORY] if setup.memory_use is None else [])],
        notes=notes[:MOST_NOTES],
        notes_total=len(notes),
        plain=_plain_fields(experiment, setup, runs, command),
        listings=[_measures_listing(series)],
        documents=_list_documents(experiment, setup, command),
        table=[_measure_json(measure, runs) for measure in MEASURES],
        maps=[
            ("skew", "Skew over time", charts.skew_chart(series)),
            ("nodes", "Nodes at the end", charts.distribution_chart(series)),
        ],
    )


def _list_notes(experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    finished_runs = {(run.policy, run.seed) for run in runs}
    notes = [
        f"there is no run under {selectors.policy_title(policy)} with seed {seed}"
        for policy in experiment.policies
        for seed in experiment.seeds
        if (policy, seed) not in finished_runs
    ]
    return notes + ([ORACLE] if FUTURE in experiment.policies else [])


def _list_facts(experiment: Experiment, setup: Setup, series: Sequence[PolicySeries]) -> list[tuple[str, str]]:
    """Return the table at the top as (name, words)."""
    hours = series[0].hours[-1]
    changed = ", ".join(f"{name} {value}" for name, value in experiment.setup.items())
    engines = sorted({engine for item in series for engine in item.engines})
    by_engine = [
        f"{engine}: {', '.join(selectors.policy_title(item.policy) for item in series if engine in item.engines)}"
        for engine in engines
    ]
    return [
        ("Recording", experiment.recording.name if experiment.recording else selectors.DEMO_TITLE),
        ("Policies", "; ".join(selectors.policy_title(policy) for policy in experiment.policies)),
        ("Seeds", f"{', '.join(map(str, experiment.seeds))}; each gives other pods"),
        ("Nodes", f"{setup.nodes} of {setup.cores} cores, used to {100 * setup.used:g} % on average"),
        ("Other settings than the usual", changed or "none"),
        ("Measured", f"from {format_duration(setup.since)} to {format_duration(3600 * hours)}"),
        ("Engine", "; ".join(by_engine) or "not recorded"),
    ]


def _plain_fields(experiment: Experiment, setup: Setup, runs: Sequence[Run], command: RepeatCommand) -> Json:
    """Return the further fields of JSON."""
    return {
        "recording": experiment.recording.name if experiment.recording else None,
        "policies": experiment.policies,
        "seeds": experiment.seeds,
        "setup": setup.to_dict(),
        "engine": sorted({run.engine for run in runs if run.engine}),
        "command": command.text,
        "files": [{"name": file.name, "address": file.address} for file in command.files],
        "runs": [{"policy": run.policy, "seed": run.seed, "engine": run.engine} for run in runs],
    }


def _measures_listing(series: Sequence[PolicySeries]) -> Listing:
    """Return the means over the seeds, a row for each policy, the most even one first."""
    base = next((item.measures["skew"] for item in series if item.policy == DEFAULT), None)
    rows: list[list[object]] = [
        [
            selectors.policy_title(item.policy),
            ", ".join(map(str, item.seeds)),
            round(item.measures["skew"], 1),
            round(100.0 * item.measures["skew"] / base) if base else "–",
            round(item.measures["worst_skew"], 1),
            round(item.measures["hottest"]),
        ]
        for item in sorted(series, key=lambda item: item.measures["skew"])
    ]
    return Listing("policies", "Policies by skew, means over the seeds", HEAD, rows, len(rows), "")


def _measure_json(measure: ExperimentMeasure, runs: Sequence[Run]) -> Json:
    """Return a measure with its value in each run."""
    values = [(run, measure.value_of(run.measures)) for run in runs if measure.name in run.measures]
    return measure_row(
        measure,
        [
            {"policy": run.policy, "seed": run.seed, "value": value, "text": f"{value:g} {measure.unit}".strip()}
            for run, value in values
        ],
    )


def _list_documents(experiment: Experiment, setup: Setup, command: RepeatCommand) -> list[ReportDocument]:
    """Return the command, the set-up and the text of each policy."""
    built_in = list_policies(setup.nodes)
    documents = [("Command", command.text), ("Set-up", json.dumps(setup.to_dict(), indent=1))]
    for policy in experiment.policies:
        if "@" in policy:
            revision = selectors.find_revision(policy)
            documents += [(f"Policy {policy}", revision.document)] if revision else []
        elif policy in built_in:
            documents.append((f"Policy {policy}", json.dumps(built_in[policy], indent=1)))
    return [ReportDocument.from_text(label, text) for label, text in documents]
