"""Figures from metrics.k8s.io (metrics-server or an adapter), and statistics over windows of them.

The API has current values only, which are stored as the statistic ``now``. Averages, deviations and maxima are computed
from stored samples, over the existing part of a window, as in Prometheus.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.dateparse import parse_datetime

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.models import Cluster
from kschedweb.engine.objects import ObjectError
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.state.columns import Floats
from kschedweb.watermarks.collection import CollectedFigures, CollectionReport, QueryReport, finish_report, mean_of_pods
from kschedweb.watermarks.figures import AVERAGES, DEVIATIONS, KINDS, MAXIMA, NODE, NOW, RESOURCES, STATISTICS, Figure
from kschedweb.watermarks.inventory import Inventory
from kschedweb.watermarks.models import Resolution
from kschedweb.watermarks.selectors import samples_matrix
from kschedweb.watermarks.storage import combine_rows
from kschedweb.web.errors import ApplicationError

PATHS = {NODE: "/apis/metrics.k8s.io/v1beta1/nodes", "workload": "/apis/metrics.k8s.io/v1beta1/pods"}
# Seconds; metrics-server returns the last sample of a silent kubelet.
OLDEST = 300.0
# Seconds.
FIVE, HOUR, DAY = 300, 3600, 86_400


def from_metrics(client: Client, inventory: Inventory, *, at: float) -> CollectedFigures:
    """Return the current use of nodes (percent of allocatable) and workloads (mean of pods) as the statistic
    ``now``.
    """
    begun = time.monotonic()
    collected = CollectedFigures(inventory, report=CollectionReport(at=at))
    for kind in KINDS:
        try:
            items = _list_items(client, PATHS[kind])
        except ApplicationError as error:
            message = _explain_error(error, kind)
            for resource in RESOURCES:
                collected.report.queries[f"{kind}/{resource}/{NOW}"] = QueryReport(error=message, setting="cluster")
            continue
        used, report = _read_nodes(items, inventory, at) if kind == NODE else _read_pods(items, inventory, at)
        if kind != NODE:
            collected.containers = _read_containers(items, inventory, at)
        for resource in RESOURCES:
            collected.report.queries[f"{kind}/{resource}/{NOW}"] = report
            if report.error:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                values = (
                    used[resource] * 100 / inventory.allocatable[resource]
                    if kind == NODE
                    else mean_of_pods(used[resource], inventory)
                )
            collected.values[Figure(kind, resource, NOW)] = np.where(np.isfinite(values), values, np.nan)
    finish_report(collected, seconds=time.monotonic() - begun)
    return collected


def _list_items(client: Client, path: str) -> list[Any]:
    answer = client.get(path)
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ClusterError(f"The server's answer for {path} is not a list.")
    return items


def _explain_error(error: ApplicationError, kind: str) -> str:
    code = getattr(error, "code", 0)
    noun = "nodes" if kind == NODE else "pods"
    if code == 404:
        return "The cluster does not serve metrics.k8s.io: install metrics-server, or take the figures from Prometheus."
    if code == 403:
        return f"The cluster's credentials may not list {noun} of metrics.k8s.io (403): grant that to their role."
    if code == 503:
        return "The cluster knows metrics.k8s.io, but what serves it does not answer (503): look at metrics-server."
    return error.detail


def _read_nodes(items: Iterable[Any], inventory: Inventory, at: float) -> tuple[dict[str, Floats], QueryReport]:
    """Return cores and bytes by node."""
    places = {name: place for place, name in enumerate(inventory.nodes)}
    used = {resource: np.full(len(inventory.nodes), np.nan) for resource in RESOURCES}
    report = QueryReport()
    for item in items:
        report.series += 1
        place = places.get(_metadata_text(item, "name"))
        _add_usage(
            used,
            place,
            [item.get("usage")] if isinstance(item, dict) else [],
            item,
            at,
            report,
            _metadata_text(item, "name"),
        )
    report.missing = int(np.isnan(used["cpu"]).sum())
    return used, _finish_report(report, "nodes")


def _read_pods(items: Iterable[Any], inventory: Inventory, at: float) -> tuple[dict[str, Floats], QueryReport]:
    """Return cores and bytes by pod, in the order of ``inventory.owners``."""
    places = {key: place for place, key in enumerate(inventory.owners)}
    used = {resource: np.full(len(places), np.nan) for resource in RESOURCES}
    report = QueryReport()
    for item in items:
        report.series += 1
        key = _metadata_text(item, "namespace"), _metadata_text(item, "name")
        containers = item.get("containers") if isinstance(item, dict) else None
        usages = [entry.get("usage") for entry in containers if isinstance(entry, dict)] if containers else []
        _add_usage(used, places.get(key), usages, item, at, report, "/".join(key))
    return used, _finish_report(report, "pods")


def _read_containers(
    items: Iterable[Any], inventory: Inventory, at: float
) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return cores and bytes of each container of the cluster's pods, without those that ``_read_pods`` finds
    unusable.
    """
    amounts_by_container: dict[tuple[str, str, str], dict[str, float]] = {}
    for item in items:
        key = _metadata_text(item, "namespace"), _metadata_text(item, "name")
        measured_at = _parse_moment(item.get("timestamp")) if isinstance(item, dict) else None
        if key not in inventory.owners or (measured_at and at - measured_at.timestamp() > OLDEST):
            continue
        listed = item.get("containers")
        for container in listed if isinstance(listed, list) else ():
            with suppress(KeyError, TypeError, ObjectError):
                amounts = {resource: parse_quantity(str(container["usage"][resource])) / NANO for resource in RESOURCES}
                if min(amounts.values()) >= 0:
                    amounts_by_container[*key, str(container["name"])] = amounts
    return amounts_by_container


def _add_usage(
    used: Mapping[str, Floats],
    place: int | None,
    usages: list[Any],
    item: Any,
    at: float,
    report: QueryReport,
    name: str,
) -> None:
    """Put the sum of ``usages`` at ``place``, or count it as unmatched or unusable."""
    if place is None:
        if len(report.unmatched) < 3:
            report.unmatched.append(name[:120])
        return
    report.matched += 1
    measured_at = _parse_moment(item.get("timestamp"))
    try:
        amounts = {
            resource: sum(parse_quantity(str(usage[resource])) for usage in usages) / NANO for resource in RESOURCES
        }
    except (KeyError, TypeError, ObjectError):
        amounts = {}
    if (
        not amounts
        or not usages
        or min(amounts.values()) < 0
        or (measured_at and at - measured_at.timestamp() > OLDEST)
    ):
        report.unusable += 1
        return
    for resource, amount in amounts.items():
        used[resource][place] = amount


def _finish_report(report: QueryReport, noun: str) -> QueryReport:
    if not report.series:
        report.error = f"metrics.k8s.io knows no {noun} yet: metrics-server needs a minute after its start."
    elif not report.matched:
        report.error = f"metrics.k8s.io knows {report.series} {noun}, but none of this cluster's newest snapshot."
    elif report.unusable == report.matched:
        report.error = f"The figures of all {noun} are unreadable or older than {OLDEST / 60:.0f} minutes."
    elif report.unusable:
        report.warnings.append(
            f"The figures of {report.unusable} {noun} are unreadable or older than {OLDEST / 60:.0f} minutes."
        )
    return report


def _metadata_text(item: Any, key: str) -> str:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return str(metadata.get(key) or "") if isinstance(metadata, dict) else ""


def _parse_moment(value: Any) -> datetime | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def compute_windows(cluster: Cluster, collected: CollectedFigures, *, at: int) -> dict[Figure, Floats]:
    """Return all figures, from stored samples and from ``collected`` at ``at``."""
    figures: dict[Figure, Floats] = {}
    for kind in KINDS:
        names = collected.inventory.nodes if kind == NODE else collected.inventory.workloads
        for resource in RESOURCES:
            present = collected.values.get(Figure(kind, resource, NOW))
            if present is None:
                continue
            figure = Figure(kind, resource, NOW)
            times, recent = samples_matrix(cluster, figure, Resolution.COLLECTED, at - HOUR - FIVE, at - 1, names)
            ends, rolled = samples_matrix(cluster, figure, Resolution.FIVE_MINUTES, at - DAY, at - 1, names)
            times, recent = np.append(times, at), np.vstack([recent, present])
            for statistic in STATISTICS[kind]:
                figures[Figure(kind, resource, statistic)] = compute_window(statistic, at, times, recent, ends, rolled)
    return figures


def compute_window(statistic: str, at: int, times: Floats, recent: Floats, ends: Floats, rolled: Floats) -> Floats:
    """Return one figure from the ``recent`` samples [times, objects] of the last hour and the day's ``rolled`` up
    ones.
    """
    if statistic in DEVIATIONS:
        rows = recent[times > at - DEVIATIONS[statistic]]
        with np.errstate(invalid="ignore"):
            mean = combine_rows(rows, maximum=False)
            return np.sqrt(combine_rows((rows - mean) ** 2, maximum=False))
    if statistic in MAXIMA:
        # Within the last hour every moment's 5-minute average counts; before that the rolled-up ones have to do.
        begins = at - HOUR
        sliding = [
            combine_rows(recent[(times > moment - FIVE) & (times <= moment)], maximum=False)
            for moment in times[times > begins]
        ]
        earlier = rolled[(ends > at - MAXIMA[statistic]) & (ends <= begins)]
        return combine_rows(np.vstack([earlier, *sliding]), maximum=True)
    seconds = AVERAGES[statistic]
    if seconds <= HOUR:
        return combine_rows(recent[times > at - seconds], maximum=False)
    # Roll-ups lag by up to 5 minutes: the samples since the last one fill the gap.
    last = ends[-1] if len(ends) else 0.0
    tail = recent[(times > last) & (times > at - FIVE)]
    means = rolled[ends > at - seconds]
    return combine_rows(np.vstack([means, combine_rows(tail, maximum=False)]) if len(tail) else means, maximum=False)
