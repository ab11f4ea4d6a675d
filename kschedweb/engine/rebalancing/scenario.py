"""Cycles on a cluster and a policy in JSON, with results in the form of the command line.

The descheduler lists nodes and pods in no certain order, and walks maps in any. A cycle is run again with other orders
of maps (``runs``) and of the lists (``shuffles``), so that the answer tells which parts do not depend on the order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from random import Random
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    describe_object,
    get_integer,
    get_mapping,
    get_objects,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster, DisruptionBudget
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.evictions import Eviction
from kschedweb.engine.rebalancing.loading import PolicyRefused, load_policy
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.pods import PodRequests, PodView, read_pod_view
from kschedweb.engine.values import dataclass

RUNS, SHUFFLES = 8, 8
# For the other orders, so that answers are reproducible; the first run takes the scenario's own orders.
SEED = 1


class DeschedulingError(ValueError):
    """A scenario cannot be run; the text tells where and why."""


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """The objects of a scenario, from which clusters are created."""

    nodes: list[Node]
    pods: list[PodView]
    budgets: list[DisruptionBudget]
    # Name -> labels.
    namespaces: dict[str, dict[str, str]]
    # Storage class by namespace/name of a claim; None if it names none.
    claims: dict[str, str | None]
    # Values of priority classes.
    classes: dict[str, int]
    requests_by_template: dict[int, PodRequests]

    @classmethod
    def from_json(cls, raw: Json) -> DescribedCluster:
        """Read ``raw["objects"]``; raise ObjectError."""
        described = cls([], [], [], {}, {}, {}, {})
        for place, entry in enumerate(get_objects(raw, "objects")):
            try:
                described._add_object(entry)
            except ObjectError as error:
                raise ObjectError(f"objects[{place}] ({describe_object(entry)}): {error}") from None
        return described

    @classmethod
    def from_objects(
        cls, raws: Iterable[Json], pods: Iterable[Pod] = ()
    ) -> tuple[DescribedCluster, list[tuple[str, str]]]:
        """Read objects, without those that cannot be read, which are listed as (object, reason).

        ``pods`` are pods among them that were read before.
        """
        described, problems = cls([], [], [], {}, {}, {}, {}), list[tuple[str, str]]()
        pods_by_id = {id(pod.raw): pod for pod in pods}
        for raw in raws:
            try:
                described._add_object(raw, pods_by_id.get(id(raw)))
            except ObjectError as error:
                problems.append((describe_object(raw), str(error)))
        return described, problems

    def _add_object(self, raw: Json, pod: Pod | None = None) -> None:
        kind, metadata = get_string(raw, "kind"), get_mapping(raw, "metadata")
        name = get_string(metadata, "name", "metadata.")
        match kind:
            case "Node":
                self.nodes.append(Node.from_json(raw))
                read_quantities(get_mapping(raw, "status"), "capacity", "status.")
            case "Pod":
                self.pods.append(read_pod_view(raw, self.requests_by_template, pod))
            case "PodDisruptionBudget":
                self.budgets.append(DisruptionBudget.from_json(raw))
            case "Namespace":
                self.namespaces[name] = get_string_map(metadata, "labels", "metadata.")
            case "PersistentVolumeClaim":
                storage = get_string(get_mapping(raw, "spec"), "storageClassName", "spec.")
                self.claims[f"{get_string(metadata, 'namespace', 'metadata.') or 'default'}/{name}"] = storage or None
            case "PriorityClass":
                self.classes[name] = get_integer(raw, "value")
            case "":
                raise ObjectError("kind: is missing")

    def create_cluster(self, shuffle: Random | None = None) -> DeschedulerCluster:
        """Return a new cluster, with nodes and pods in their order or shuffled."""
        nodes, pods = list(self.nodes), list(self.pods)
        if shuffle is not None:
            shuffle.shuffle(nodes)
            shuffle.shuffle(pods)
        cluster = DeschedulerCluster(nodes, self.budgets, self.namespaces, self.claims)
        cluster.add_pods(pods)
        return cluster


def run_scenario(raw: Json, clock: Callable[[], float], *, runs: int = RUNS, shuffles: int = SHUFFLES) -> Json:
    """Return the evictions of the descheduler. ``clock`` returns the time if the scenario has none.

    It is in seconds of the epoch. Raise DeschedulingError.
    """
    name = raw.get("name") or ""
    if not isinstance(name, str):
        raise DeschedulingError("name: must be a string")
    try:
        described = DescribedCluster.from_json(raw)
        metrics = Metrics.from_json(get_mapping(raw, "metrics"))
        now = get_time(raw, "now")
        document = get_mapping(raw, "policy")
    except ObjectError as error:
        raise DeschedulingError(f"{name}: {error}" if name else str(error)) from None

    def run_once(chance: Random | None, shuffle: Random | None) -> CycleResult:
        policy = load_policy(document, described.classes)
        return run_cycle(policy, described.create_cluster(shuffle), clock() if now is None else now, metrics, chance)

    return {"name": name, **_compare_orders(run_once, runs, shuffles)}


def _compare_orders(run_once: Callable[[Random | None, Random | None], CycleResult], runs: int, shuffles: int) -> Json:
    """Run cycles in several orders, and return the result with the parts that all of them share.

    ``run_once`` runs a cycle with given orders of maps and of lists.
    """
    nothing_evicted: Json = {"evicted": [], "ordered": True, "orderIndependent": True}
    try:
        first = run_once(None, None)
    except (PolicyRefused, SelectorError) as refused:
        return {"error": str(refused), **nothing_evicted}
    if first.skipped:
        return {"skipped": first.skipped, **nothing_evicted}
    chance = Random(SEED)  # noqa: S311 - only other orders are wanted
    reruns = [run_once(chance, None) for _ in range(runs - 1)]
    listed = [_canonical_order(result.evicted) for result in (first, *reruns)]
    outcomes = list({json.dumps(evictions): evictions for evictions in listed}.values())
    ordered = all(result.evicted == first.evicted for result in reruns)
    sets = (_evicted_pods(run_once(chance, chance).evicted) for _ in range(shuffles))
    independent = len(outcomes) == 1 and all(pods == _evicted_pods(first.evicted) for pods in sets)
    answer: Json = {
        "evicted": [eviction.to_dict() for eviction in first.evicted] if ordered else outcomes[0],
        "ordered": ordered,
        "orderIndependent": independent,
    }
    details = {
        "failures": first.failures if all(result.failures == first.failures for result in reruns) else [],
        "pluginErrors": first.outcome.plugin_errors,
        "classification": sorted(first.outcome.classes, key=_class_order),
        "notes": first.outcome.notes,
        "alternatives": outcomes[1:],
    }
    return answer | {key: value for key, value in details.items() if value}


def _canonical_order(evicted: Iterable[Eviction]) -> list[Json]:
    """Return evictions with neighbours of one profile and plugin sorted by pod."""
    groups = groupby(evicted, lambda eviction: (eviction.profile, eviction.plugin))
    return [eviction.to_dict() for _, group in groups for eviction in sorted(group, key=lambda eviction: eviction.pod)]


def _evicted_pods(evicted: Iterable[Eviction]) -> list[str]:
    return sorted(eviction.pod for eviction in evicted)


def _class_order(classification: Json) -> Any:
    return classification.get("profile", ""), classification["plugin"], classification["node"]
