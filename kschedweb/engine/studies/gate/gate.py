"""Judge a policy against a baseline on one cluster, for the command and for the site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.documents.files import ReadError, cluster_objects
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import NodeJoins, PodArrives, SimulationError
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.capacity.buffer import compute_buffer
from kschedweb.engine.studies.compare.comparison import compare_runs
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import ALL, RunSettings, ScenarioChange, ScenarioDocument, UsageSource
from kschedweb.engine.studies.gate.thresholds import Thresholds
from kschedweb.engine.studies.gate.verdict import GateJudgement, RunPair, judge_runs
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.recorder import Progress as Heard
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from kschedweb.engine.studies.upgrade.report import Upgrade, build_report
from kschedweb.engine.values import dataclass

DEFAULTS = "kube-scheduler's defaults"
# Notes and warnings that are listed.
MOST_NOTES = 50
NO_NODE = (
    "there is no node in it: take it with kubectl get nodes,pods,… --all-namespaces -o json, as an account that may"
)
NO_POD = "there is no pod in it, so nothing would be tried: take it with --all-namespaces"
NOTHING_TRIED = "no pod had to be scheduled, so nothing was tried"
# Times in conditions.
TIMES = ("lastHeartbeatTime", "lastTransitionTime")
# Gets the current step and its progress; may raise to end the work.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """A policy with the release that runs it."""

    # Name for people.
    label: str
    # Its text; None for kube-scheduler's defaults.
    document: str | bytes | None = None
    release: Release = CURRENT

    @property
    def title(self) -> str:
        """Its name, with the release that runs it."""
        return f"{self.label} as {self.release.title}"


def policy_titles(policy: GatePolicy, baseline: GatePolicy) -> tuple[str, str]:
    """Return the names of both policies, with their releases unless both are run by the current one."""
    if policy.release is baseline.release is CURRENT:
        return policy.label, baseline.label
    return policy.title, baseline.title


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """The question of a gate: does a policy keep the thresholds?"""

    policy: GatePolicy
    # The policy that it is compared with.
    baseline: GatePolicy
    thresholds: Thresholds
    # A few words about the cluster.
    subject: str


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The answer of a gate."""

    question: GateQuestion
    judged: GateJudgement
    # Nodes that exist at any time, and pods to schedule.
    nodes: int
    pods: int
    seed: int
    # The engine of the policy's release, for people.
    engine: str
    # What was left out.
    notes: tuple[str, ...] = ()
    # Fields of the policy that kube-scheduler ignores.
    warnings: tuple[str, ...] = ()
    # Report of the upgrade if another release runs the policy than the baseline.
    upgrade: Json | None = None

    @property
    def passed(self) -> bool:
        return self.judged.passed

    def to_dict(self) -> Json:
        """Return plain data, for JSON and as the source of the other formats."""
        judged = self.judged.to_dict()
        policy, baseline = policy_titles(self.question.policy, self.question.baseline)
        header = {
            "policy": policy,
            "baseline": baseline,
            "about": self.question.subject,
            "engine": self.engine,
            "seed": self.seed,
            "nodes": self.nodes,
            "pods": self.pods,
            "thresholds": self.question.thresholds.plain,
        }
        head = {key: judged.pop(key) for key in ("verdict", "summary")}
        remarks = {"notes": list(self.notes), "warnings": list(self.warnings), "upgrade": self.upgrade}
        return {**head, **header, **judged, **remarks}


def compute_verdict(
    prepared: PreparedScenario, question: GateQuestion, *, progress: Progress | None = None
) -> GateVerdict:
    """Run ``prepared`` under both policies, compare the runs, and judge.

    Raise DocumentError with problems under the paths policy, baseline, scenario and thresholds.
    """
    after, warnings = load_configuration(question.policy, "policy")
    before, _ = load_configuration(question.baseline, "baseline")
    nodes, pods = count_nodes_and_pods(prepared)
    ends = list[Snapshot]()
    outcomes = [
        play_policy(prepared, configuration, wrap_progress(progress, f"Under {title}:"), ends.append)
        for configuration, title in zip(
            (before, after), reversed(policy_titles(question.policy, question.baseline)), strict=True
        )
    ]
    priority, losses = question.thresholds.zone_loss_priority, None
    if priority is not None:
        losses = compute_buffer(ends[1], after, priority=priority)
    explain_progress = wrap_progress(progress, "Moved pods explained:")
    comparison = compare_runs(outcomes[0], outcomes[1], prepared, before, after, progress=explain_progress)
    measures = [compute_measures(outcome) for outcome in outcomes]
    pair = RunPair(outcomes[0], outcomes[1], measures[0], measures[1], comparison, losses)
    judged = judge_runs(pair, question.thresholds)
    notes = tuple(_limit_notes(outcomes[0], pods))
    upgraded = None
    first, second = question.baseline.release, question.policy.release
    if first.title != second.title and first.loader is second.loader is None:
        upgraded = build_report(Upgrade(first, second, question.policy.document, outcomes[0], outcomes[1], comparison))
    return GateVerdict(question, judged, nodes, pods, prepared.seed, after.release.engine, notes, warnings, upgraded)


def load_configuration(policy: GatePolicy, path: str) -> tuple[Configuration, tuple[str, ...]]:
    """Return the configuration of ``policy`` and the warnings about it; raise DocumentError if it is invalid."""
    loaded = load(policy.document, policy.release)
    if loaded.configuration is None:
        problems = []
        for problem in loaded.problems:
            line = loaded.line(problem.path)
            problems.append(DocumentProblem(path, f"line {line}: {problem.text}" if line else problem.text))
        raise ScenarioError(problems or [DocumentProblem(path, text) for text in loaded.errors])
    return loaded.configuration, tuple(loaded.warnings[:MOST_NOTES])


def prepared_of(
    listed: Sequence[Json],
    *,
    place: str = ALL,
    seed: int = 1,
    now: float | None = None,
    utilisation: Watermarks | None = None,
    prices: PriceTable | None = None,
    changes: tuple[ScenarioChange, ...] = (),
) -> PreparedScenario:
    """Return a scenario in which the pods of the ``listed`` objects are placed, after ``changes``.

    With ``place`` "all", bound pods are placed again; with "pending" they keep their nodes. ``now`` is when the objects
    were read, in seconds of the epoch; the default is the newest time in them. ``prices`` are those of nodes. A run
    takes equally long with and without known use, so that a dump gives the measures that the site gives. Raise
    DocumentError.
    """
    kinds = [raw.get("kind") for raw in listed if isinstance(raw, dict)]
    missing = [text for kind, text in (("Node", NO_NODE), ("Pod", NO_POD)) if kind not in kinds]
    if missing:
        raise ScenarioError([DocumentProblem("snapshot", missing[0])])
    use = UsageSource("none" if utilisation is None else "watermarks")
    document = ScenarioDocument(name="gate", use=use, run=RunSettings(place=place), prices=prices, changes=changes)
    time = newest_time(listed) if now is None else now
    prepared = prepare_scenario(document, listed, {}, seed=seed, now=time, utilisation=utilisation)
    return replace(prepared, settings=replace(prepared.settings, settles=True))


def count_nodes_and_pods(prepared: PreparedScenario) -> tuple[int, int]:
    """Return the number of nodes that exist at any time, and the number of pods to schedule."""
    nodes = sum(raw.get("kind") == "Node" for raw in prepared.objects)
    waiting = sum(raw.get("kind") == "Pod" and not (raw.get("spec") or {}).get("nodeName") for raw in prepared.objects)
    joins = sum(isinstance(event, NodeJoins) for event in prepared.events)
    arrives = sum(isinstance(event, PodArrives) for event in prepared.events)
    return nodes + joins, waiting + arrives


def read_objects(documents: Iterable[Any]) -> list[Json]:
    """Return the ``cluster_objects`` of documents; raise DocumentError."""
    try:
        return cluster_objects(documents)
    except ReadError as error:
        raise ScenarioError([DocumentProblem("snapshot", str(error))]) from None


def newest_time(listed: Iterable[Json]) -> float:
    """Return the newest time in nodes and pods in seconds of the epoch, about when they were read; 0 for none."""
    return max((_parse_time(text) for raw in listed for text in _iterate_times(raw)), default=0.0)


def _iterate_times(raw: Json) -> Iterator[Any]:
    metadata, status = raw.get("metadata"), raw.get("status")
    if isinstance(metadata, dict):
        yield metadata.get("creationTimestamp")
    if isinstance(status, dict) and isinstance(status.get("conditions"), list):
        for condition in status["conditions"]:
            if isinstance(condition, dict):
                yield from (condition.get(name) for name in TIMES)


def _parse_time(text: Any) -> float:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def play_policy(
    prepared: PreparedScenario,
    configuration: Configuration,
    heard: Heard | None,
    ended: Callable[[Snapshot], object] | None = None,
) -> RunOutcome:
    """Run ``prepared`` under a policy. Raise DocumentError at the path "scenario" if it cannot be run."""
    try:
        return run_scenario(prepared, configuration, progress=heard, ended=ended)
    except (SimulationError, CycleError) as error:
        raise ScenarioError([DocumentProblem("scenario", f"cannot be played: {error}")]) from None


def wrap_progress(progress: Progress | None, text: str) -> Heard | None:
    """Return what tells ``progress`` of a run, with ``text`` as its step; ``None`` if nobody listens."""
    if progress is None:
        return None

    def report_progress(now: float, completed: int, total: int) -> None:
        progress(text.strip(), min(completed, total), total)

    return report_progress


def _limit_notes(outcome: RunOutcome, pods: int) -> Iterator[str]:
    listed = [*([] if pods else [NOTHING_TRIED]), *(text for _, text in outcome.refused), *outcome.notes]
    yield from listed[:MOST_NOTES]
    if len(listed) > MOST_NOTES:
        yield f"and {len(listed) - MOST_NOTES:,} further notes"
