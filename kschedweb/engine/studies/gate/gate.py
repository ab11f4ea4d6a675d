"""Judges a policy against a baseline on one cluster, for the command and for the site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.documents.files import ReadError, cluster_objects
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json
from kschedweb.engine.pricing.table import PriceTable
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import NodeJoins, PodArrives, SimulationError
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.capacity.buffer import buffer
from kschedweb.engine.studies.compare.comparison import compare
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.document.parts import ALL, Document, RunOf, UseOf
from kschedweb.engine.studies.gate.thresholds import Thresholds
from kschedweb.engine.studies.gate.verdict import GateJudgement, Pair, judge
from kschedweb.engine.studies.measure.measures import measure
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.recorder import Progress as Heard
from kschedweb.engine.studies.play.run import run
from kschedweb.engine.studies.prepare.prepared import Prepared, prepare
from kschedweb.engine.studies.upgrade.report import Upgrade, report
from kschedweb.engine.values import dataclass

DEFAULTS = "kube-scheduler's defaults"
MOST_NOTES = 50
NO_NODE = (
    "there is no node in it: take it with kubectl get nodes,pods,… --all-namespaces -o json, as an account that may"
)
NO_POD = "there is no pod in it, so nothing would be tried: take it with --all-namespaces"
NOTHING_TRIED = "no pod had to be scheduled, so nothing was tried"
TIMES = ("lastHeartbeatTime", "lastTransitionTime")
# Gets the current step and its progress; may raise to end the work.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as text (``None``: kube-scheduler's defaults), its name, and who runs it."""

    label: str
    document: str | bytes | None = None
    release: Release = CURRENT

    @property
    def title(self) -> str:
        """Its name, with the release that runs it."""
        return f"{self.label} as {self.release.title}"


def titles(policy: Policy, baseline: Policy) -> tuple[str, str]:
    """The names of both, with the releases where one of these is not the one that is meant anyway."""
    if policy.release is baseline.release is CURRENT:
        return policy.label, baseline.label
    return policy.title, baseline.title


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """The policy, the ``baseline`` to compare it with, and a few words ``about`` the cluster."""

    policy: Policy
    baseline: Policy
    thresholds: Thresholds
    about: str


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The result. ``warnings`` are about fields that kube-scheduler ignores, ``notes`` about what was left out.

    ``upgrade`` is the report of it, where the policy is run by another release than the baseline.
    """

    asked: GateQuestion
    judged: GateJudgement
    nodes: int
    pods: int
    seed: int
    engine: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    upgrade: Json | None = None

    @property
    def passed(self) -> bool:
        return self.judged.passed

    def to_dict(self) -> Json:
        """Plain data, for JSON and as the source of the other formats."""
        judged = self.judged.to_dict()
        policy, baseline = titles(self.asked.policy, self.asked.baseline)
        about = {
            "policy": policy,
            "baseline": baseline,
            "about": self.asked.about,
            "engine": self.engine,
            "seed": self.seed,
            "nodes": self.nodes,
            "pods": self.pods,
            "thresholds": self.asked.thresholds.plain,
        }
        head = {key: judged.pop(key) for key in ("verdict", "summary")}
        told = {"notes": list(self.notes), "warnings": list(self.warnings), "upgrade": self.upgrade}
        return {**head, **about, **judged, **told}


def verdict(prepared: Prepared, asked: GateQuestion, *, progress: Progress | None = None) -> GateVerdict:
    """Play ``prepared`` under both policies, compare the runs, and judge.

    Raises DocumentError with problems under the paths policy, baseline, scenario and thresholds.
    """
    after, warnings = configured(asked.policy, "policy")
    before, _ = configured(asked.baseline, "baseline")
    nodes, pods = size(prepared)
    ends = list[Snapshot]()
    outcomes = [
        _played(prepared, one, _heard(progress, f"Under {title}:"), ends.append)
        for one, title in zip((before, after), reversed(titles(asked.policy, asked.baseline)), strict=True)
    ]
    least, losses = asked.thresholds.zone_loss_priority, None
    if least is not None:
        losses = buffer(ends[1], after, priority=least)
    told = _heard(progress, "Moved pods explained:")
    comparison = compare(outcomes[0], outcomes[1], prepared, before, after, progress=told)
    measures = [measure(outcome) for outcome in outcomes]
    pair = Pair(outcomes[0], outcomes[1], measures[0], measures[1], comparison, losses)
    judged = judge(pair, asked.thresholds)
    notes = tuple(_notes(outcomes[0], pods))
    upgraded = None
    first, second = asked.baseline.release, asked.policy.release
    if first.title != second.title and first.reads is second.reads is None:
        upgraded = report(Upgrade(first, second, asked.policy.document, outcomes[0], outcomes[1], comparison))
    return GateVerdict(asked, judged, nodes, pods, prepared.seed, after.release.engine, notes, warnings, upgraded)


def configured(policy: Policy, path: str) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration of ``policy`` and the warnings about it; raises DocumentError if it is invalid."""
    loaded = load(policy.document, policy.release)
    if loaded.configuration is None:
        problems = []
        for one in loaded.problems:
            line = loaded.line(one.path)
            problems.append(DocumentProblem(path, f"line {line}: {one.text}" if line else one.text))
        raise DocumentError(problems or [DocumentProblem(path, text) for text in loaded.errors])
    return loaded.configuration, tuple(loaded.warnings[:MOST_NOTES])


def prepared_of(
    listed: Sequence[Json],
    *,
    place: str = ALL,
    seed: int = 1,
    now: float | None = None,
    utilisation: Watermarks | None = None,
    prices: PriceTable | None = None,
) -> Prepared:
    """A scenario in which the pods of the ``listed`` objects are placed and nothing else happens.

    With ``place`` "all", bound pods are placed again; with "pending" they keep their nodes. ``now`` is when the objects
    were read, in seconds of the epoch; the default is the newest time in them. ``prices`` are what nodes cost. A run
    lasts as long where real use is known as where it is not, so that a dump measures what the site measures. Raises
    DocumentError.
    """
    kinds = [raw.get("kind") for raw in listed if isinstance(raw, dict)]
    missing = [text for kind, text in (("Node", NO_NODE), ("Pod", NO_POD)) if kind not in kinds]
    if missing:
        raise DocumentError([DocumentProblem("snapshot", missing[0])])
    use = UseOf("none" if utilisation is None else "watermarks")
    document = Document(name="gate", use=use, run=RunOf(place=place), prices=prices)
    time = newest_time(listed) if now is None else now
    prepared = prepare(document, listed, {}, seed=seed, now=time, utilisation=utilisation)
    return replace(prepared, settings=replace(prepared.settings, settles=True))


def size(prepared: Prepared) -> tuple[int, int]:
    """The number of nodes that ever exist, and the number of pods to schedule."""
    nodes = sum(raw.get("kind") == "Node" for raw in prepared.objects)
    waiting = sum(raw.get("kind") == "Pod" and not (raw.get("spec") or {}).get("nodeName") for raw in prepared.objects)
    joins = sum(isinstance(event, NodeJoins) for event in prepared.events)
    arrives = sum(isinstance(event, PodArrives) for event in prepared.events)
    return nodes + joins, waiting + arrives


def read_objects(documents: Iterable[Any]) -> list[Json]:
    """``cluster_objects``; raises DocumentError."""
    try:
        return cluster_objects(documents)
    except ReadError as error:
        raise DocumentError([DocumentProblem("snapshot", str(error))]) from None


def newest_time(listed: Iterable[Json]) -> float:
    """The newest time in nodes and pods, in seconds of the epoch, which is about when they were read; 0 for none."""
    return max((_seconds(text) for raw in listed for text in _times(raw)), default=0.0)


def _times(raw: Json) -> Iterator[Any]:
    metadata, status = raw.get("metadata"), raw.get("status")
    if isinstance(metadata, dict):
        yield metadata.get("creationTimestamp")
    if isinstance(status, dict) and isinstance(status.get("conditions"), list):
        for condition in status["conditions"]:
            if isinstance(condition, dict):
                yield from (condition.get(name) for name in TIMES)


def _seconds(text: Any) -> float:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _played(
    prepared: Prepared, configuration: Configuration, heard: Heard | None, ended: Callable[[Snapshot], object]
) -> Outcome:
    try:
        return run(prepared, configuration, progress=heard, ended=ended)
    except (SimulationError, CycleError) as error:
        raise DocumentError([DocumentProblem("scenario", f"cannot be played: {error}")]) from None


def _heard(progress: Progress | None, text: str) -> Heard | None:
    if progress is None:
        return None

    def heard(now: float, done: int, known: int) -> None:
        progress(text, min(done, known), known)

    return heard


def _notes(outcome: Outcome, pods: int) -> Iterator[str]:
    listed = [*([] if pods else [NOTHING_TRIED]), *(text for _, text in outcome.refused), *outcome.notes]
    yield from listed[:MOST_NOTES]
    if len(listed) > MOST_NOTES:
        yield f"and {len(listed) - MOST_NOTES:,} further notes"
