"""Two weeks of use of the demo cluster, computed for its pods from the time and a seed.

Use is a function of time, so equal seed and end give equal figures. Each workload follows the pattern of its namespace:
shops are busy in the afternoon, batch at night, staging hardly ever. Each pod fluctuates around that with its own
period. Databases, models and payments request far more than they use; analytics requests too little.

The last day is recorded every five minutes, the days before it by the hour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from kschedweb.clusters.demo import SEED
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.state.columns import Floats
from kschedweb.watermarks.container_book import ContainerUse, book_add
from kschedweb.watermarks.figures import AVERAGES, KINDS, MAXIMA, NODE_STATISTICS, WORKLOAD_STATISTICS, Figure
from kschedweb.watermarks.inventory import WITHOUT_OWNER, inventory_make
from kschedweb.watermarks.models import Resolution
from kschedweb.watermarks.storage import samples_rollup, samples_store

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster


ORIGIN = "demo"
# Seconds.
MINUTE, STEP, QUARTER, HOUR, DAY = 60, 300, 900, 3600, 86_400
# All days that are recorded.
DAYS = 14
# Seconds between two samples of containers before the last day.
PAST_STEP = 3 * HOUR
# The use of the machine itself: cores, and bytes.
SYSTEM_CPU, SYSTEM_MEMORY = 0.15, 400 * 1024 * 1024
# The share of a node beyond which its pods slow each other down.
FULL = 0.98
# Seconds; periods without a common multiple, so that the sum of the waves looks irregular.
RHYTHMS = (9 * MINUTE, 31 * MINUTE, 97 * MINUTE, 5.5 * 3600)


@dataclass(frozen=True)
class Habit:
    """The share of its request that a pod uses."""

    # At rest.
    rest: float
    # At its daily peak.
    peak: float
    # The hour of the peak, in UTC.
    hour: float
    # The share of requested memory.
    memory: float
    # The relative fluctuation of a pod's use.
    wavers: float = 0.25


HABITS = {
    "shop": Habit(0.3, 1.0, 14, 0.7),
    "payments": Habit(0.15, 0.45, 13, 0.4),
    "ingress": Habit(0.4, 1.5, 14, 0.5),
    "analytics": Habit(0.3, 0.85, 2, 0.7, 0.4),
    "batch": Habit(0.1, 0.9, 3, 0.6, 0.5),
    "staging": Habit(0.03, 0.2, 11, 0.3, 0.8),
    "data": Habit(0.15, 0.32, 14, 0.42, 0.2),
    "ml": Habit(0.3, 0.5, 20, 0.4, 0.1),
    "monitoring": Habit(0.4, 0.55, 12, 0.75, 0.15),
}
ORDINARY = Habit(0.3, 0.6, 12, 0.6)


# Figures by statistic of values [times, objects], of those statistics that are named.
ComputeFigures: TypeAlias = Callable[[Floats, Iterable[str]], Iterator[tuple[str, Floats]]]


@dataclass(frozen=True)
class DemoFigures:
    """Figures of objects by resource and statistic."""

    # Seconds of the epoch.
    times: NDArray[np.int64]
    names: list[str]
    # Each of shape [times, names].
    figures: Mapping[tuple[str, str], Floats]


def demo_record(*, cluster: Cluster, objects: list[Json], end: float | None = None) -> None:
    """Store the two weeks up to ``end`` (seconds of the epoch, by default now) of the demo ``cluster`` of
    ``objects``.
    """
    last = timezone.now().timestamp() if end is None else end
    owned = inventory_make(objects)
    owners = {
        f"{namespace}/{pod}": owned.workloads[place]
        for (namespace, pod), place in owned.owners.items()
        if place != WITHOUT_OWNER
    }
    past, day = Resolution.HOUR, Resolution.FIVE_MINUTES
    for resolution, record in ((past, record_past), (day, record_day)):
        for kind, recorded in zip(KINDS, record(objects, owners, last), strict=True):
            rows = [
                (int(at), {Figure(kind, *key): values[row] for key, values in recorded.figures.items()})
                for row, at in enumerate(recorded.times)
            ]
            samples_store(
                cluster=cluster, kind=kind, names=recorded.names, rows=rows, origin=ORIGIN, resolution=resolution
            )
    for resolution, times in ((past, _past_times(last)), (day, _day_times(last))):
        use = containers_used(objects, times)
        book_add(cluster=cluster, inventory=owned, use=use, origin=ORIGIN, peaks=resolution)
    samples_rollup(cluster=cluster, now=int(last))


def record_day(
    objects: Iterable[Json], owners: Mapping[str, str], end: float, seed: int = SEED
) -> tuple[DemoFigures, DemoFigures]:
    """Return the day up to ``end`` (seconds of the epoch) of the nodes and of the workloads in ``objects``.

    ``owners`` maps keys of pods to workloads, "namespace/Kind/name". Nodes are in percent of allocatable, workloads in
    cores and bytes per pod.
    """
    last = int(end) // STEP * STEP
    # One more day, for the first time's average of a day.
    minutes = np.arange(last - 2 * DAY + MINUTE, last + MINUTE, MINUTE)
    return _record_figures(list(objects), owners, minutes, _day_times(end), seed, _five_minute_figures)


def record_past(
    objects: Iterable[Json], owners: Mapping[str, str], end: float, seed: int = SEED
) -> tuple[DemoFigures, DemoFigures]:
    """Return the days before the day up to ``end`` as ``record_day`` does, by the hour.

    They are made of four values an hour, so that two weeks take no longer than a day.
    """
    last = _past_end(end)
    # One more day, for the first time's average of a day.
    quarters = np.arange(last - DAYS * DAY + QUARTER, last + QUARTER, QUARTER)
    hours = np.arange(last - (DAYS - 1) * DAY + HOUR, last + HOUR, HOUR)
    return _record_figures(list(objects), owners, quarters, hours, seed, _hourly_figures)


def _past_end(end: float) -> int:
    """Return the last full hour before the day up to ``end``."""
    return (int(end) // STEP * STEP - DAY) // HOUR * HOUR


def _past_times(end: float) -> NDArray[np.int64]:
    last = _past_end(end)
    return np.arange(last - (DAYS - 1) * DAY + PAST_STEP, last + PAST_STEP, PAST_STEP)


def _day_times(end: float) -> NDArray[np.int64]:
    last = int(end) // STEP * STEP
    return np.arange(last - DAY + STEP, last + STEP, STEP)


def _record_figures(
    listed: list[Json],
    owners: Mapping[str, str],
    times: NDArray[np.int64],
    ends: NDArray[np.int64],
    seed: int,
    compute: ComputeFigures,
) -> tuple[DemoFigures, DemoFigures]:
    """Return the figures at ``ends``, which ``compute`` makes of the use at ``times``."""
    nodes, pods, on = _running_pods(listed)
    place = {node["metadata"]["name"]: column for column, node in enumerate(nodes)}
    cpu, memory, cores, size = _compute_used(nodes, pods, on, times, seed)
    use = {
        "cpu": 100 * (_sum_by_group(cpu, on, len(nodes)) + SYSTEM_CPU) / cores,
        "memory": 100 * np.minimum(_sum_by_group(memory, on, len(nodes)) + SYSTEM_MEMORY, FULL * size) / size,
    }
    by_node = {(name, key): values for name, rows in use.items() for key, values in compute(rows, NODE_STATISTICS)}
    keys = [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods]
    workloads = sorted({owners[key] for key in keys if key in owners})
    index = {name: column for column, name in enumerate(workloads)}
    mine = np.array([index[owners[key]] if key in owners else -1 for key in keys], dtype=np.int64)
    count = np.bincount(mine[mine >= 0], minlength=len(workloads))
    by_workload = {
        (name, key): values
        for name, rows in (("cpu", cpu), ("memory", memory))
        for key, values in compute(
            _sum_by_group(rows[:, mine >= 0], mine[mine >= 0], len(workloads)) / count, WORKLOAD_STATISTICS
        )
    }
    return DemoFigures(ends, list(place), by_node), DemoFigures(ends, workloads, by_workload)


def containers_used(objects: Iterable[Json], times: NDArray[np.int64], seed: int = SEED) -> ContainerUse:
    """Return the use of each container at ``times`` (seconds of the epoch): a pod's use, split by requests."""
    nodes, pods, on = _running_pods(list(objects))
    cpu, memory, _, _ = _compute_used(nodes, pods, on, times, seed)
    keys, columns, parts = [], [], []
    for column, pod in enumerate(pods):
        amounts = [_parse_amounts(container["resources"]["requests"]) for container in pod["spec"]["containers"]]
        whole = np.maximum(np.sum(amounts, axis=0), 1e-9)
        for container, shares in zip(pod["spec"]["containers"], np.array(amounts) / whole, strict=True):
            keys.append((pod["metadata"]["namespace"], pod["metadata"]["name"], container["name"]))
            columns.append(column)
            parts.append(shares)
    of_cpu, of_memory = np.array(parts).T
    return ContainerUse(times, keys, {"cpu": cpu[:, columns] * of_cpu, "memory": memory[:, columns] * of_memory})


def _running_pods(listed: list[Json]) -> tuple[list[Json], list[Json], NDArray[np.int64]]:
    """Return the nodes, the pods on them, and the place of each pod's node."""
    nodes = [item for item in listed if item["kind"] == "Node"]
    pods = [item for item in listed if item["kind"] == "Pod" and item["spec"].get("nodeName")]
    place = {node["metadata"]["name"]: column for column, node in enumerate(nodes)}
    return nodes, pods, np.array([place[pod["spec"]["nodeName"]] for pod in pods], dtype=np.int64)


def _compute_used(
    nodes: list[Json], pods: list[Json], on: NDArray[np.int64], times: NDArray[np.int64], seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return cores and bytes that each pod uses at each time, [times, pods], and those that each node has."""
    cpu, memory = _compute_demand(pods, times, seed)
    room = [_parse_amounts(node["status"]["allocatable"]) for node in nodes]
    cores, size = np.array([pair[0] for pair in room]), np.array([pair[1] for pair in room])
    demand = np.maximum(_sum_by_group(cpu, on, len(nodes)), 1e-9)
    # A full node slows all of its pods down by the same factor.
    cpu *= np.minimum(1.0, (FULL * cores - SYSTEM_CPU) / demand)[:, on]
    return cpu, memory, cores, size


def _compute_demand(pods: list[Json], times: NDArray[np.int64], seed: int) -> tuple[Floats, Floats]:
    """Return cores and bytes that each pod needs at each time: [times, pods]."""
    random = np.random.default_rng(seed)
    now = times[:, None].astype(np.float64)
    habits = [HABITS.get(pod["metadata"]["namespace"], ORDINARY) for pod in pods]

    def habit_values(name: str) -> Floats:
        return np.array([getattr(habit, name) for habit in habits])

    # The pods of a workload share its offset. Sorted, so that the order of objects does not change the numbers drawn.
    leaning = {app: random.lognormal(0, 0.35) for app in sorted({_app_name(pod) for pod in pods})}
    shared = np.array([leaning[_app_name(pod)] for pod in pods])
    pod_factor = random.lognormal(0, 0.15, len(pods))
    hour = habit_values("hour") + random.normal(0, 1.2, len(pods))
    # Squared, so that the peak is narrower than the night.
    daily = (0.5 + 0.5 * np.cos(2 * np.pi * (now / 3600 - hour) / 24)) ** 2
    wave = np.zeros((len(times), len(pods)))
    for rhythm in RHYTHMS:
        length = rhythm * random.uniform(0.8, 1.25, len(pods))
        wave += np.sin(2 * np.pi * (now / length + random.uniform(0, 1, len(pods))))
    # The sum of n independent sines has a standard deviation of the root of n/2.
    wave *= habit_values("wavers") / np.sqrt(len(RHYTHMS) / 2)
    requests = [_pod_requests(pod) for pod in pods]
    level = (habit_values("rest") + (habit_values("peak") - habit_values("rest")) * daily) * np.maximum(0.05, 1 + wave)
    cpu = np.array([pair[0] for pair in requests]) * shared * pod_factor * level
    filled = np.minimum(0.98, habit_values("memory") * pod_factor * (1 + 0.04 * wave + 0.06 * (daily - 0.5)))
    return cpu, np.array([pair[1] for pair in requests]) * filled


def _five_minute_figures(rows: Floats, statistics: Iterable[str]) -> Iterator[tuple[str, Floats]]:
    """Yield ``statistics`` at each step of the second day, from values for each minute of two days."""
    five = rows.reshape(len(rows) // 5, 5, -1).mean(axis=1)
    for key in statistics:
        if key in MAXIMA:
            windows = np.lib.stride_tricks.sliding_window_view(five, MAXIMA[key] // STEP, axis=0)
            yield key, windows.max(axis=-1)[-DAY // STEP :]
        elif key == "15m_std":
            # The variance is the mean of the squares minus the square of the mean; rounding may make it slightly
            # negative.
            variance = _moving_mean(rows * rows, 15) - _moving_mean(rows, 15) ** 2
            yield key, np.sqrt(np.maximum(0.0, variance))
        else:
            yield key, _moving_mean(rows, AVERAGES[key] // MINUTE)


def _hourly_figures(rows: Floats, statistics: Iterable[str]) -> Iterator[tuple[str, Floats]]:
    """Yield ``statistics`` at each hour from the second day on, from values for each quarter of an hour."""
    quarters = rows.reshape(len(rows) // 4, 4, -1)
    mean, highest = quarters.mean(axis=1), quarters.max(axis=1)
    hours = len(mean) - DAY // HOUR
    for key in statistics:
        if key in MAXIMA:
            windows = np.lib.stride_tricks.sliding_window_view(highest, MAXIMA[key] // HOUR, axis=0)
            yield key, windows.max(axis=-1)[-hours:]
        elif key == "15m_std":
            yield key, quarters.std(axis=1)[-hours:]
        else:
            windows = np.lib.stride_tricks.sliding_window_view(mean, max(AVERAGES[key] // HOUR, 1), axis=0)
            yield key, windows.mean(axis=-1)[-hours:]


def _moving_mean(rows: Floats, width: int) -> Floats:
    """Return the mean of the ``width`` minutes up to each step of the second day."""
    # Differences of one running sum give every window at once.
    total = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    ends = np.arange(len(rows) - DAY // MINUTE + 5, len(rows) + 1, 5)
    return (total[ends] - total[ends - width]) / width


def _sum_by_group(rows: Floats, group: NDArray[np.int64], groups: int) -> Floats:
    """Return the columns of ``rows`` summed by ``group``."""
    # A product with a matrix of zeros and ones is far faster than a loop over groups.
    member = np.zeros((rows.shape[1], groups))
    member[np.arange(rows.shape[1]), group] = 1.0
    summed: Floats = rows @ member
    return summed


def _app_name(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['labels']['app']}"


def _pod_requests(pod: Json) -> tuple[float, float]:
    amounts = [_parse_amounts(container["resources"]["requests"]) for container in pod["spec"]["containers"]]
    return sum(pair[0] for pair in amounts), sum(pair[1] for pair in amounts)


def _parse_amounts(quantities: Json) -> tuple[float, float]:
    """Return cores and bytes."""
    return parse_quantity(quantities["cpu"]) / NANO, parse_quantity(quantities["memory"]) / NANO
