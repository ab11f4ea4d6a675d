"""The comparison of policies as plain data, largest differences first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.jobs.models import State
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.comparisons import chance, moved
from kschedweb.playground.runs.measures import Measure, amount, difference, kept
from kschedweb.playground.runs.rows import arranged

if TYPE_CHECKING:
    from kschedweb.playground.runs.models import Comparison, Difference, Run

MOVED = Measure("moved", "Pods that go elsewhere", "pods", "", "Pods on another node than under the reference.", None)


@dataclass(frozen=True)
class ComparedPolicy:
    """One policy of a comparison, with its finished runs by seed."""

    position: int
    label: str
    runs: dict[int, Run]
    total: int  # number of its runs, finished or not

    @property
    def place(self) -> str:
        """Its position in an address."""
        return str(self.position)

    @property
    def first(self) -> Run | None:
        """The run of the lowest seed."""
        return self.runs[min(self.runs)] if self.runs else None

    @property
    def engines(self) -> list[str]:
        """As ``engines`` of its runs."""
        return engines(self.runs.values())


@dataclass(frozen=True)
class MeasureChange:
    """Another policy's value of a measure compared with the reference, over the seeds that both have."""

    value: str
    text: str  # the change with its sign and unit
    percent: float | None  # of the reference, None where that is 0
    better: bool | None  # None if nothing changes or no direction is better
    share: float  # 0 to 1, relative to the larger of both values: the length of the bar
    chance: str  # words on significance, "" for a single seed

    @property
    def relative(self) -> str:
        """The change in percent of the reference, with its sign; "" if there is none."""
        if self.percent is None:
            return ""
        if 0 < abs(self.percent) < 0.05:
            return "under 0.1 %"
        return f"{'+' if self.percent > 0 else '−' if self.percent < 0 else ''}{abs(self.percent):,.1f} %"

    @property
    def width(self) -> str:
        return f"{100 * self.share:.1f}%"


@dataclass(frozen=True)
class MeasureRow:
    """A measure: the reference's value, and every other policy's change; ``values`` are by policy and seed."""

    measure: Measure
    reference: str
    changes: list[MeasureChange]
    weight: float  # size of the change, by which the table is sorted
    values: list[dict[int, float]]


def sides(comparison: Comparison) -> list[ComparedPolicy]:
    """The policies in their order, the reference first."""
    found: dict[int, ComparedPolicy] = {}
    for run in comparison.runs.all():
        side = found.get(run.position) or ComparedPolicy(run.position, run.label, {}, 0)
        done = {**side.runs, run.seed: run} if run.ended_at else side.runs
        found[run.position] = ComparedPolicy(side.position, side.label, done, side.total + 1)
    return [found[position] for position in sorted(found)]


def engines(runs: Iterable[Run]) -> list[str]:
    """The versions of kschedweb, with the kube-scheduler that they stand for, which made the finished ones of them."""
    return sorted({run.engine for run in runs if run.ended_at})


def lines(
    listed: Sequence[ComparedPolicy], differences: Sequence[Difference] = (), ordering: str = ""
) -> list[MeasureRow]:
    """Every measure of the policies, and the pods that moved; empty until the reference has a run.

    The largest changes come first, unless ``ordering`` is "measure" or "change-N" (of the policy at position N),
    descending after a "-".
    """
    reference = listed[0].first if listed else None
    if reference is None:
        return []
    by_side = [
        {seed: {one.name: one.value for one in kept(run)} for seed, run in sorted(side.runs.items())} for side in listed
    ]
    made = [*_moved(listed, differences), *(_line(measure, by_side) for measure in kept(reference))]
    made.sort(key=lambda line: -line.weight)
    key, down = ordering.removeprefix("-"), ordering.startswith("-")
    if key == "measure":
        return arranged(made, lambda line: line.measure.label.lower(), down=down)
    places = {f"change-{side.position}": place for place, side in enumerate(listed[1:])}
    return arranged(made, lambda line: line.changes[places[key]].share, down=down) if key in places else made


def _moved(listed: Sequence[ComparedPolicy], differences: Sequence[Difference]) -> list[MeasureRow]:
    """The number of pods on other nodes than under the reference, as a measure without a reference value."""
    known = {(one.run.position, one.run.seed): one.counts for one in differences if one.counts}
    values: list[dict[int, float]] = [{}]
    changes = []
    for side in listed[1:]:
        counts = {seed: known[side.position, seed] for seed in sorted(side.runs) if (side.position, seed) in known}
        values.append({seed: float(one["moved"]) for seed, one in counts.items()})
        mean, pods = _mean(values[-1]), _mean({seed: one["pods"] for seed, one in counts.items()})
        share = mean / pods if mean and pods else 0.0
        changes.append(MeasureChange(amount(MOVED, mean), f"{100 * share:.1f} % of all pods", None, None, share, ""))
    if not any(values):
        return []
    return [MeasureRow(MOVED, "–", changes, max(change.share for change in changes), values)]


def _line(measure: Measure, by_side: Sequence[dict[int, dict[str, float | None]]]) -> MeasureRow:
    values = [
        {seed: value for seed, named in runs.items() if (value := named.get(measure.name)) is not None}
        for runs in by_side
    ]
    changes = [_change(measure, values[0], other) for other in values[1:]]
    shown = [
        _shown(measure, values[0], other, change, share)
        for other, (share, change) in zip(values[1:], changes, strict=True)
    ]
    weight = max((relative for relative, _ in changes), default=0.0)
    return MeasureRow(measure, amount(measure, _mean(values[0])), shown, weight, values)


def _change(measure: Measure, base: dict[int, float], other: dict[int, float]) -> tuple[float, float]:
    """The change over the seeds that both have, and its size, 0 to 1, relative to the larger value."""
    pairs = [(base[seed], other[seed]) for seed in base if seed in other]
    if not pairs:
        return 0.0, 0.0
    before, after = np.mean(pairs, axis=0).tolist()
    largest = max(abs(before), abs(after))
    return (abs(after - before) / largest if largest else 0.0), after - before


def _shown(
    measure: Measure, base: dict[int, float], other: dict[int, float], change: float, share: float
) -> MeasureChange:
    pairs = [(base[seed], other[seed]) for seed in sorted(base) if seed in other]
    before = _mean(dict(enumerate(first for first, _ in pairs)))
    percent = 100 * change / before if before else None
    better = None
    if change and measure.direction in ("lower", "higher"):
        better = (change < 0) == (measure.direction == "lower")
    value, said = amount(measure, _mean(other)), difference(measure, change)
    return MeasureChange(value, said, percent, better, share, chance.verdict(pairs))


def _mean(values: dict[int, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


@dataclass(frozen=True)
class MovedByPlugin:
    """The number of pods that a plugin's score moved, over all compared seeds."""

    plugin: str
    count: int
    share: str

    @property
    def key(self) -> str:
        return self.plugin or moved.NONE

    @property
    def words(self) -> str:
        return self.plugin or "no plugin"


def groups(counts: Sequence[dict[str, Any]]) -> list[MovedByPlugin]:
    """Moved pods by the plugin that moved them, most first."""
    together: dict[str, int] = {}
    for entry in counts:
        for plugin, number in entry.get("byPlugin", {}).items():
            together[plugin] = together.get(plugin, 0) + number
    most = max(together.values(), default=0)
    ordered = sorted(together.items(), key=lambda item: (-item[1], item[0]))
    return [MovedByPlugin(plugin, number, f"{100 * number / most:.1f}%") for plugin, number in ordered]


def sentence(listed: Sequence[ComparedPolicy], found: Sequence[MeasureRow], moving: int | None, pods: int) -> str:
    """The result of the comparison in one sentence."""
    if not found or len(listed) < 2:
        return ""
    other, base = listed[1].label, listed[0].label
    if len(listed) > 2:
        return f"{len(listed)} policies on the same scenario: {_most(listed, found)}"
    said = _most(listed, found)
    if moving is None:
        return f"{other} against {base}: {said}"
    if not moving and not any(line.weight for line in found):
        return f"{other} decides as {base} does: no pod goes elsewhere"
    return f"{other} moves {moving:,} of {pods:,} pods; {said}"


def _most(listed: Sequence[ComparedPolicy], found: Sequence[MeasureRow]) -> str:
    changing = [line for line in found if line.weight and line.measure is not MOVED]
    if not changing:
        return "no measure changes"
    line = max(changing, key=lambda line: line.weight)
    place = max(range(len(line.changes)), key=lambda at: line.changes[at].share)
    change = line.changes[place]
    name = line.measure.label[0].lower() + line.measure.label[1:]
    return f"{name}: {change.value} instead of {line.reference}" + (
        f" under {listed[place + 1].label}" if len(listed) > 2 else ""
    )


def seconds_left(comparison: Comparison) -> float | None:
    """The estimated time until all runs are done; ``None`` if unknown."""
    listed = list(comparison.runs.all())
    going = [run.job for run in listed if not run.ended_at and run.job and run.job.state == State.RUNNING]
    waiting = sum(not run.ended_at and run.job is not None and run.job.state == State.QUEUED for run in listed)
    known = [job.seconds_left for job in going if job.seconds_left is not None]
    if len(known) < len(going) or not going:
        return None
    took = [run.seconds for run in listed if run.seconds is not None]
    if waiting and not took:
        return None
    return max(known) + (waiting / len(going) * float(np.mean(took)) if waiting else 0.0)


def ready(comparison: Comparison) -> bool:
    """Whether all runs and differences have ended."""
    return all(selectors.finished(run) for run in comparison.runs.all())
