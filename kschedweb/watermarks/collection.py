"""One collection: queries the source, matches the answers with the cluster's objects, and reports."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from kschedweb.clusters.connecting.addresses import CheckedEndpoint
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.columns import Floats
from kschedweb.watermarks import prometheus
from kschedweb.watermarks.figures import BY_NAME, CONTAINER, NODE, WORKLOAD, Figure
from kschedweb.watermarks.inventory import WITHOUT_OWNER, Inventory
from kschedweb.watermarks.prometheus import PrometheusError, Vector
from kschedweb.watermarks.units import looks_like, to_allocatable_percent, unit_problem
from kschedweb.web.errors import ApplicationError

# A higher use of a pod cannot be true.
MOST_CORES = 100_000.0
# Seconds between two clocks from which on ages are unreliable.
SKEW = 60.0
# Values and unknown names that a report shows of each query.
EXAMPLES = 3
# Share of unknown pods from which on the snapshot is probably old.
STRANGERS = 0.1


@dataclass
class QueryReport:
    """The report on one query."""

    # Series in the answer.
    series: int = 0
    # Series with a node or pod of the cluster.
    matched: int = 0
    # A few names of the others.
    unmatched: list[str] = field(default_factory=list)
    # Values that are NaN, infinite or negative.
    unusable: int = 0
    # Additional series for the same node or pod.
    duplicates: int = 0
    # Nodes of the cluster without a value.
    missing: int = 0
    # As stored: percent of allocatable, cores, or bytes.
    examples: list[tuple[str, float]] = field(default_factory=list)
    # The apparent unit of node values; "" if unclear.
    unit: str = ""
    # Why nothing was stored; "" if it was.
    error: str = ""
    # The setting to check.
    setting: str = "query"
    warnings: list[str] = field(default_factory=list)


@dataclass
class CollectionReport:
    """The report on one collection."""

    # Seconds of the epoch.
    at: float = 0.0
    # How long it took.
    seconds: float = 0.0
    # Nodes with at least one figure.
    nodes: int = 0
    workloads: int = 0
    queries: dict[str, QueryReport] = field(default_factory=dict)
    # Plain sentences, the worst first.
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> Json:
        return asdict(self)

    @property
    def failed(self) -> dict[str, QueryReport]:
        return {name: query for name, query in self.queries.items() if query.error}


@dataclass
class CollectedFigures:
    """The collected values."""

    inventory: Inventory
    # Nodes in percent of allocatable, workloads in cores and bytes per pod.
    values: dict[Figure, Floats] = field(default_factory=dict)
    containers: dict[tuple[str, str, str], dict[str, float]] = field(default_factory=dict)
    """(namespace, pod, container) -> what it used: cores as cpu, bytes as memory."""
    report: CollectionReport = field(default_factory=CollectionReport)

    def values_of_kind(self, kind: str) -> dict[Figure, Floats]:
        return {figure: values for figure, values in self.values.items() if figure.kind == kind}


@dataclass(frozen=True)
class Setup:
    """The queries to a Prometheus, and the way to read its answers."""

    endpoint: CheckedEndpoint
    secret: Secret
    # The label whose value names the node.
    node_label: str
    # The unit of the nodes' values.
    unit: str
    # PromQL by the name of the figure.
    queries: Mapping[str, str]


def from_prometheus(setup: Setup, inventory: Inventory, *, at: float, seconds: float) -> CollectedFigures:
    """Make all queries of ``setup`` at the time ``at``, for at most ``seconds``. Errors go into the report."""
    begun = time.monotonic()
    collected = CollectedFigures(inventory, report=CollectionReport(at=at))
    queries = {name: query for name, query in setup.queries.items() if query.strip() and name in BY_NAME}
    try:
        answers = prometheus.run_queries(setup.endpoint, setup.secret, queries, at=at, seconds=seconds)
    # A broken certificate authority keeps every query from being made.
    except ApplicationError as error:
        answers = {name: PrometheusError(error.detail, setting="ca") for name in queries}
    for name, answer in answers.items():
        report = collected.report.queries[name] = QueryReport()
        if isinstance(answer, PrometheusError):
            report.error, report.setting = answer.detail, answer.setting
            continue
        report.series, report.warnings = len(answer.labels), list(answer.warnings)
        figure = BY_NAME[name]
        if figure.kind == CONTAINER:
            _read_containers(answer, figure, collected, report)
            continue
        read = _read_nodes if figure.kind == NODE else _read_workloads
        values = read(answer, figure, setup, inventory, report)
        if not report.error:
            collected.values[figure] = values
    skew = max((answer.skew for answer in answers.values() if isinstance(answer, Vector)), key=abs, default=0.0)
    finish_report(collected, seconds=time.monotonic() - begun, skew=skew)
    return collected


def finish_report(collected: CollectedFigures, *, seconds: float, skew: float = 0.0) -> None:
    """Add totals to the report, and problems in sentences."""
    report = collected.report
    report.seconds = round(seconds, 3)
    for kind in (NODE, WORKLOAD):
        columns = list(collected.values_of_kind(kind).values())
        count = int(np.count_nonzero(~np.isnan(columns).all(axis=0))) if columns else 0
        setattr(report, "nodes" if kind == NODE else "workloads", count)
    by_error: dict[str, list[str]] = {}
    for name, query in report.queries.items():
        if query.error:
            by_error.setdefault(query.error, []).append(name)
    # One cause usually breaks several queries: each error is named once.
    for error, names in by_error.items():
        if len(names) == len(report.queries):
            report.problems.append(error)
        else:
            several = f" and {len(names) - 1} more" if len(names) > 1 else ""
            report.problems.append(f"{BY_NAME[names[0]].label}{several}: {error}" if names[0] in BY_NAME else error)
    if abs(skew) > SKEW:
        ahead = "ahead of" if skew > 0 else "behind"
        report.problems.append(
            f"The server's clock is {abs(skew):.0f} s {ahead} this one's: the ages of figures are off by that."
        )


def _read_nodes(answer: Vector, figure: Figure, setup: Setup, inventory: Inventory, report: QueryReport) -> Floats:
    """Return percent of allocatable. Shape [nodes]."""
    places = np.full(len(answer.labels), WITHOUT_OWNER)
    for index, labels in enumerate(answer.labels):
        name = labels.get(setup.node_label)
        place = None if name is None else inventory.find_node(name)
        if place is not None:
            places[index] = place
        elif len(report.unmatched) < EXAMPLES:
            report.unmatched.append(_series_name(labels) if name is None else name)
    values = _highest_by_place(answer.values, places, len(inventory.nodes), report, "node")
    if report.error or not report.matched:
        _explain_nothing(answer, setup, report, "nodes")
        return values
    report.unit, report.error = unit_problem(values, figure, setup.unit, inventory)
    if report.unit and not report.error:
        report.warnings.append(f"All values are 1 or less: are they {report.unit}?")
    report.unit = report.unit or looks_like(values, figure, setup.unit)
    percent = to_allocatable_percent(values, figure.resource, setup.unit, inventory)
    report.missing = int(np.isnan(percent).sum())
    _add_examples(report, inventory.nodes, percent)
    return percent


def _read_workloads(answer: Vector, figure: Figure, setup: Setup, inventory: Inventory, report: QueryReport) -> Floats:
    """Return the mean over each workload's pods. Shape [workloads]."""
    position_by_pod = {key: index for index, key in enumerate(inventory.owners)}
    places = np.full(len(answer.labels), WITHOUT_OWNER)
    for index, labels in enumerate(answer.labels):
        position = position_by_pod.get((labels.get("namespace", ""), labels.get("pod", "")))
        if position is not None:
            places[index] = position
        elif len(report.unmatched) < EXAMPLES:
            report.unmatched.append(_series_name(labels))
    pods = _highest_by_place(answer.values, places, len(position_by_pod), report, "pod")
    if report.error or not report.matched:
        _explain_nothing(answer, setup, report, "pods")
        return np.full(len(inventory.workloads), np.nan)
    strangers = int((places < 0).sum())
    if strangers > report.series * STRANGERS:
        report.warnings.append(
            f"{strangers:,} of {report.series:,} series are about pods that the newest snapshot does not have: "
            "refresh the cluster."
        )
    # The median, because a single wrong value must not discard all others.
    if figure.resource == "cpu" and np.nanmedian(pods) > MOST_CORES:
        report.error = "The values are too large for cores: does the query give millicores or nanoseconds?"
    values = mean_of_pods(pods, inventory)
    _add_examples(report, inventory.workloads, values)
    return values


def _read_containers(answer: Vector, figure: Figure, collected: CollectedFigures, report: QueryReport) -> None:
    """Take the use of each container of the cluster's pods."""
    owners = collected.inventory.owners
    keys = [
        (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", "")) for labels in answer.labels
    ]
    places = np.full(len(keys), WITHOUT_OWNER)
    for index, key in enumerate(keys):
        if key[:2] in owners and key[2]:
            places[index] = index
        elif len(report.unmatched) < EXAMPLES:
            report.unmatched.append(_series_name(answer.labels[index]))
    values = _highest_by_place(answer.values, places, len(keys), report, "container")
    if report.error or not report.matched:
        _explain_nothing(answer, None, report, "containers")
    elif figure.resource == "cpu" and np.nanmedian(values) > MOST_CORES:
        report.error = "The values are too large for cores: does the query give millicores or nanoseconds?"
    else:
        for place in np.flatnonzero(~np.isnan(values)).tolist():
            amounts = collected.containers.setdefault(keys[place], {})
            amounts[figure.resource] = max(amounts.get(figure.resource, 0.0), float(values[place]))
        _add_examples(report, tuple("/".join(key) for key in keys), values)


def mean_of_pods(pods: Floats, inventory: Inventory) -> Floats:
    """Return the mean over each workload's pods, from values in the order of ``inventory.owners``. Shape
    [workloads].
    """
    owners = np.fromiter(inventory.owners.values(), dtype=np.int64, count=len(inventory.owners))
    counted = (owners >= 0) & ~np.isnan(pods)
    size = len(inventory.workloads)
    sums = np.bincount(owners[counted], weights=pods[counted], minlength=size)
    counts = np.bincount(owners[counted], minlength=size)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def _highest_by_place(values: Floats, places: NDArray[np.int64], size: int, report: QueryReport, noun: str) -> Floats:
    """Return ``values`` at their places. Of several for one place the highest counts, which is the safe choice."""
    highest = np.full(size, np.nan)
    usable = np.isfinite(values) & (values >= 0)
    report.unusable = int((~usable).sum())
    matched = places >= 0
    report.matched = len(np.unique(places[matched]))
    report.duplicates = int(matched.sum()) - report.matched
    if not values.size:
        report.error = "The query gives nothing: no series has these names and labels."
    elif not usable.any():
        report.error = "All values are NaN, infinite or negative."
    elif report.unusable:
        report.warnings.append(f"{report.unusable} values are NaN, infinite or negative and were left out.")
    if report.duplicates:
        report.warnings.append(
            f"{report.duplicates} series are about a {noun} that another series is about too: the highest counts."
        )
    selected = matched & usable
    # fmax.at handles repeated places one by one, and ignores the NaN that marks an empty place.
    np.fmax.at(highest, places[selected], values[selected])
    return highest


def _explain_nothing(answer: Vector, setup: Setup | None, report: QueryReport, noun: str) -> None:
    if report.error:
        return
    if setup is not None and noun == "nodes":
        labels = sorted(
            {label for series_labels in answer.labels[:50] for label in series_labels if label != "__name__"}
        )
        if setup.node_label not in labels:
            report.setting = "node_label"
            report.error = (
                f"No series has the label {setup.node_label}: there {'is' if len(labels) == 1 else 'are'} "
                f"{', '.join(labels[:8]) or 'no labels'}."
            )
            return
    else:
        labels = []
    report.error = (
        f"{report.series} series, but none is about {noun} of this cluster, such as {report.unmatched[0]}."
        if report.unmatched
        else f"None of the {report.series} series is about {noun} of this cluster."
    )


def _series_name(labels: Mapping[str, str]) -> str:
    inner = ", ".join(f"{name}={value}" for name, value in sorted(labels.items())[:4] if name != "__name__")
    return f"{{{inner}}}"[:120]


def _add_examples(report: QueryReport, names: tuple[str, ...], values: Floats) -> None:
    places = np.flatnonzero(~np.isnan(values))[:EXAMPLES]
    report.examples = [(names[place], round(float(values[place]), 4)) for place in places.tolist()]
