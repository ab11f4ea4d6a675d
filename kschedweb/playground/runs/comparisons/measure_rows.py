"""The comparison of policies as plain data, the most important differences first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.compare.changes import MeasureChange, compute_change, find_headline
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.measures import measure_of
from kschedweb.engine.studies.measure.registry import MOVED, find_spec, get_spec, lead_of, rank_of
from kschedweb.engine.studies.measure.spec import SpecGroup
from kschedweb.engine.studies.measure.values import NEITHER
from kschedweb.jobs.models import JobState
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.comparisons import moved_pods, significance
from kschedweb.playground.runs.measures import (
    RunMeasure,
    format_amount,
    format_difference,
    format_distance,
    list_measures,
    translate_measure,
)
from kschedweb.playground.runs.rows import sort_rows

if TYPE_CHECKING:
    from kschedweb.playground.runs.models import Comparison, Difference, Run

# Against the reference itself neither way is better.
MOVING = RunMeasure(**asdict(measure_of(get_spec(MOVED), None)) | {"direction": NEITHER})


@dataclass(frozen=True)
class ComparedPolicy:
    """A policy of a comparison, with its finished runs by seed."""

    # 0 is the reference.
    position: int
    label: str
    runs: dict[int, Run]
    # Number of its runs, finished or not.
    total: int

    @property
    def place(self) -> str:
        """Its position as it stands in an address."""
        return str(self.position)

    @property
    def first(self) -> Run | None:
        """The run of the lowest seed; ``None`` before any is finished."""
        return self.runs[min(self.runs)] if self.runs else None

    @property
    def engines(self) -> list[str]:
        """The engines of its runs, as ``list_engines`` has them."""
        return list_engines(self.runs.values())


@dataclass(frozen=True)
class ShownChange:
    """The change of a measure from the reference to another policy, over the seeds that both have."""

    measure_change: MeasureChange
    # The other policy's value with its unit.
    value: str
    # The change with its sign and unit.
    text: str
    # The noise floor with its unit.
    floor: str
    # From 0 to 1, relative to the larger of both values: the length of the bar.
    share: float
    # Words on the seeds; "" for a single seed.
    chance: str
    # What the change is compared with, if not with the reference's value.
    basis: str = ""

    @property
    def differs(self) -> bool:
        return self.measure_change.differs

    @property
    def better(self) -> bool | None:
        return self.measure_change.better

    @property
    def percent(self) -> float | None:
        """The change in percent of the reference's value; ``None`` if that is 0."""
        return 100 * self.measure_change.change / self.measure_change.before if self.measure_change.before else None

    @property
    def relative(self) -> str:
        """The change in percent of the reference, with its sign; "" if there is none."""
        if self.basis or self.percent is None:
            return self.basis
        # Such a change would be rounded to 0.0 %.
        if 0 < abs(self.percent) < 0.05:
            return gettext("under 0.1 %%") % {}
        return f"{'+' if self.percent > 0 else '−' if self.percent < 0 else ''}{abs(self.percent):,.1f} %"

    @property
    def width(self) -> str:
        return f"{100 * self.share:.1f}%"


@dataclass(frozen=True)
class MeasureRow:
    """A measure with the reference's value, and the change to every other policy."""

    measure: RunMeasure
    # The reference's value with its unit.
    reference: str
    # A change for each other policy.
    changes: list[ShownChange]
    # Values by seed, for each policy.
    values: list[dict[int, float]]

    @property
    def differs(self) -> bool:
        """True if a change is at least as large as the noise floor."""
        return any(change.differs for change in self.changes)

    @property
    def importance(self) -> tuple[bool, int, bool, float]:
        """The importance of its most important change."""
        return max(change.measure_change.importance for change in self.changes)


@dataclass(frozen=True)
class LeadingRow:
    """A measure of a table, and those that say nearly the same and differ too."""

    line: MeasureRow
    near: list[MeasureRow]


@dataclass(frozen=True)
class RowGroup:
    """The measures of a group that differ, in the order of the table."""

    group: SpecGroup
    rows: list[LeadingRow]


def list_sides(comparison: Comparison) -> list[ComparedPolicy]:
    """Return the policies in their order, the reference first."""
    sides: dict[int, ComparedPolicy] = {}
    for run in comparison.runs.all():
        side = sides.get(run.position) or ComparedPolicy(run.position, run.label, {}, 0)
        finished_runs = {**side.runs, run.seed: run} if run.ended_at else side.runs
        sides[run.position] = ComparedPolicy(side.position, side.label, finished_runs, side.total + 1)
    return [sides[position] for position in sorted(sides)]


def list_engines(runs: Iterable[Run]) -> list[str]:
    """Return the versions of kschedweb, with their kube-scheduler, that played the finished ones of ``runs``."""
    return sorted({run.engine for run in runs if run.ended_at})


def compare_measures(
    listed: Sequence[ComparedPolicy], differences: Sequence[Difference] = (), ordering: str = ""
) -> list[MeasureRow]:
    """Return every measure of the policies, and the pods that moved; empty until the reference has a run.

    They are ordered by group. In a group the most important changes come first, unless ``ordering`` is "measure" or
    "change-N" (of the policy at position N), descending after a "-".
    """
    reference = listed[0].first if listed else None
    if reference is None:
        return []
    by_side = [
        {
            seed: {measure.name: measure.value for measure in list_measures(run)}
            for seed, run in sorted(side.runs.items())
        }
        for side in listed
    ]
    rows = [
        *_moved_rows(listed, differences),
        *(_measure_row(measure, by_side) for measure in _list_measures(listed, by_side)),
    ]
    rows.sort(key=lambda line: line.importance, reverse=True)
    key, down = ordering.removeprefix("-"), ordering.startswith("-")
    places = {f"change-{side.position}": place for place, side in enumerate(listed[1:])}
    if key == "measure":
        rows = sort_rows(rows, lambda line: line.measure.label.lower(), down=down)
    elif key in places:
        rows = sort_rows(rows, lambda line: line.changes[places[key]].share, down=down)
    # A stable sort, which keeps the order within each group.
    return sorted(rows, key=lambda line: rank_of(line.measure.name))


def _list_measures(
    listed: Sequence[ComparedPolicy], by_side: Sequence[dict[int, dict[str, float | None]]]
) -> list[RunMeasure]:
    """Return the reference's measures, and those of other policies for which absence means a value.

    For example, without a descheduler a run has no such evictions, which counts as 0 if another policy has a
    descheduler. The values are added to ``by_side``.
    """
    measures = {measure.name: measure for side in listed if side.first for measure in list_measures(side.first)}
    reference_names = {measure.name for side in listed[:1] if side.first for measure in list_measures(side.first)}
    specs = (spec for name in measures if (spec := find_spec(name)) is not None and spec.absent is not None)
    absent = {spec.name: spec.absent for spec in specs}
    for values in (values for runs in by_side for values in runs.values()):
        values.update({name: value for name, value in absent.items() if name not in values})
    return [measure for name, measure in measures.items() if name in reference_names or name in absent]


def group_rows(lines: Sequence[MeasureRow]) -> list[RowGroup]:
    """Return the measures that differ, by group. Of measures that say nearly the same, one leads.

    It is the group's leading measure if that one differs, or else the foremost.
    """
    differing = [line for line in lines if line.differs]
    names = {line.measure.name for line in differing}
    together: dict[str, list[MeasureRow]] = {}
    for line in differing:
        together.setdefault(lead_of(line.measure.name), []).append(line)
    rows: dict[str, list[LeadingRow]] = {group.name: [] for group in GROUPS}
    for name, near in together.items():
        leading = next(line for line in near if line.measure.name == name or name not in names)
        rows[leading.measure.group.name].append(LeadingRow(leading, [line for line in near if line is not leading]))
    return [RowGroup(group, rows[group.name]) for group in GROUPS]


def _moved_rows(listed: Sequence[ComparedPolicy], differences: Sequence[Difference]) -> list[MeasureRow]:
    """Return the number of pods on other nodes than under the reference, as a measure without a reference value."""
    counts_by_run = {
        (difference.run.position, difference.run.seed): difference.counts
        for difference in differences
        if difference.counts
    }
    values: list[dict[int, float]] = [{}]
    changes = []
    for side in listed[1:]:
        counts = {
            seed: counts_by_run[side.position, seed]
            for seed in sorted(side.runs)
            if (side.position, seed) in counts_by_run
        }
        values.append({seed: float(entry["moved"]) for seed, entry in counts.items()})
        mean, pods = _mean_value(values[-1]), _mean_value({seed: entry["pods"] for seed, entry in counts.items()})
        # The bar is the share of all compared pods, since the reference's value is always 0.
        share = mean / pods if mean and pods else 0.0
        change = compute_change(MOVING.name, MOVING.unit, MOVING.direction, dict.fromkeys(values[-1], 0.0), values[-1])
        basis, floor = (
            gettext("%(share)s %% of %(amount)s")
            % {"share": f"{100 * share:.1f}", "amount": format_amount(MOVING, pods)},
            format_amount(MOVING, change.floor),
        )
        changes.append(
            ShownChange(change, format_amount(MOVING, mean), format_amount(MOVING, mean), floor, share, "", basis)
        )
    return [MeasureRow(translate_measure(MOVING), "–", changes, values)] if any(values) else []


def _measure_row(measure: RunMeasure, by_side: Sequence[dict[int, dict[str, float | None]]]) -> MeasureRow:
    """Return the row of ``measure``; ``by_side`` has the values by name, for each policy and seed."""
    values = [
        {
            seed: value
            for seed, values_by_name in runs.items()
            if (value := values_by_name.get(measure.name)) is not None
        }
        for runs in by_side
    ]
    changes = [_shown_change(measure, values[0], other) for other in values[1:]]
    return MeasureRow(measure, format_amount(measure, _mean_value(values[0])), changes, values)


def _shown_change(measure: RunMeasure, base: dict[int, float], other: dict[int, float]) -> ShownChange:
    """Return the change of ``measure`` from the reference's values ``base`` to those of another policy, by seed."""
    change = compute_change(measure.name, measure.unit, measure.direction, base, other)
    largest = max(abs(change.before or 0.0), abs(change.after or 0.0))
    return ShownChange(
        change,
        format_amount(measure, _mean_value(other)),
        format_difference(measure, change.change),
        format_distance(measure, change.floor),
        abs(change.change) / largest if largest else 0.0,
        # A paired test needs the seeds that both policies have.
        significance.seed_verdict([(base[seed], other[seed]) for seed in sorted(base) if seed in other]),
    )


def _mean_value(values: dict[int, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


@dataclass(frozen=True)
class MovedByPlugin:
    """The number of pods that a plugin's score moved, over all compared seeds."""

    # "" for pods that no plugin's score moved.
    plugin: str
    count: int
    # Width of its bar, relative to the largest number, as CSS has it.
    share: str

    @property
    def key(self) -> str:
        return self.plugin or moved_pods.NONE

    @property
    def words(self) -> str:
        return self.plugin or gettext("no plugin")


def moved_by_plugin(counts: Sequence[Json]) -> list[MovedByPlugin]:
    """Return moved pods by the plugin that moved them, most first."""
    together: dict[str, int] = {}
    for entry in counts:
        for plugin, number in entry.get("byPlugin", {}).items():
            together[plugin] = together.get(plugin, 0) + number
    largest = max(together.values(), default=0)
    ordered = sorted(together.items(), key=lambda item: (-item[1], item[0]))
    return [MovedByPlugin(plugin, number, f"{100 * number / largest:.1f}%") for plugin, number in ordered]


def comparison_sentence(
    listed: Sequence[ComparedPolicy], lines: Sequence[MeasureRow], moving: int | None, pods: int
) -> str:
    """Return the result of the comparison in one sentence: the most important difference.

    ``moving`` is the number of moved pods, ``None`` while it is unknown, and ``pods`` that of compared pods.
    """
    if not lines or len(listed) < 2:
        return ""
    other, base, top_change = listed[1].label, listed[0].label, _find_top_change(lines)
    if len(listed) > 2:
        args = {"count": len(listed), "said": _nothing_differs()}
        if top_change is None:
            return gettext("%(count)s policies on the same scenario: %(said)s") % args
        args |= {"said": _describe_change(*top_change), "policy": listed[top_change[1] + 1].label}
        return gettext("%(count)s policies on the same scenario: %(said)s under %(policy)s") % args
    both = {"other": other, "base": base, "said": _describe_change(*top_change) if top_change else _nothing_differs()}
    if top_change is None and moving == 0:
        return gettext("%(other)s decides as %(base)s does: no pod goes elsewhere") % both
    if moving is None:
        return gettext("%(other)s against %(base)s: %(said)s") % both
    numbers = {"moving": f"{moving:,}", "pods": f"{pods:,}"}
    return gettext("%(other)s against %(base)s: %(said)s; %(moving)s of %(pods)s pods go elsewhere") % {
        **both,
        **numbers,
    }


def _nothing_differs() -> str:
    return gettext("no measure differs")


def _describe_change(line: MeasureRow, place: int) -> str:
    """Return words such as "17 instead of 12 unscheduled pods" or "skew of CPU requests 75 instead of 12.5 points"."""
    label = line.measure.label
    args = {"label": label[0].lower() + label[1:], "after": line.changes[place].value, "before": line.reference}
    # The unit would be said twice.
    if args["label"].endswith(line.measure.unit):
        args |= {side: args[side].partition(" ")[0] for side in ("after", "before")}
        return gettext("%(after)s instead of %(before)s %(label)s") % args
    return gettext("%(label)s %(after)s instead of %(before)s") % args


def _find_top_change(lines: Sequence[MeasureRow]) -> tuple[MeasureRow, int] | None:
    """Return the row with the most important difference, and the place of the policy in it."""
    changes = [
        (change.measure_change, line, place)
        for line in lines
        # The sentence tells moved pods by themselves.
        if line.measure.name != MOVED
        for place, change in enumerate(line.changes)
    ]
    best = find_headline(change for change, _, _ in changes)
    return next(((line, place) for change, line, place in changes if change is best), None)


def seconds_left(comparison: Comparison) -> float | None:
    """Return the estimated time until all runs are done, in seconds; ``None`` if it is unknown."""
    listed = list(comparison.runs.all())
    going = [run.job for run in listed if not run.ended_at and run.job and run.job.state == JobState.RUNNING]
    waiting = sum(not run.ended_at and run.job is not None and run.job.state == JobState.QUEUED for run in listed)
    estimates = [job.seconds_left for job in going if job.seconds_left is not None]
    if len(estimates) < len(going) or not going:
        return None
    took = [run.seconds for run in listed if run.seconds is not None]
    if waiting and not took:
        return None
    # Waiting runs share the workers that now play the others, and take as long as finished ones did.
    return max(estimates) + (waiting / len(going) * float(np.mean(took)) if waiting else 0.0)


def is_ready(comparison: Comparison) -> bool:
    """Return whether all runs have ended."""
    return all(selectors.is_finished(run) for run in comparison.runs.all())
