"""A cluster and a policy described in JSON, and what a cycle makes of them, in the form of the command line.

The descheduler lists nodes and pods in no certain order, and walks maps in any. A cycle is run again with other orders
of maps (``runs``) and of the lists (``shuffles``), so that the answer says what of it would be the same in a cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from random import Random
from typing import Any

from kschedweb.engine.objects.access import (
    Json,
    ObjectError,
    integer,
    mapping,
    moment,
    objects,
    reference,
    string_map,
    text,
)
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_list
from kschedweb.engine.rebalancing.cluster import Cluster, DisruptionBudget
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.evicting import Eviction
from kschedweb.engine.rebalancing.loading import PolicyRefused, load_policy
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.pods import Asked, PodView, view
from kschedweb.engine.values import dataclass

RUNS, SHUFFLES = 8, 8
SEED = 1  # of the other orders; the first run takes those of the scenario


class DeschedulingError(ValueError):
    """A scenario that cannot be run; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Described:
    """The objects of a scenario, of which clusters are made."""

    nodes: list[Node]
    pods: list[PodView]
    budgets: list[DisruptionBudget]
    namespaces: dict[str, dict[str, str]]
    claims: dict[str, str | None]
    classes: dict[str, int]
    asked: dict[int, Asked]

    @classmethod
    def read(cls, raw: Json) -> Described:
        """Raises ObjectError."""
        found = cls([], [], [], {}, {}, {}, {})
        for place, one in enumerate(objects(raw, "objects")):
            try:
                found._take(one)
            except ObjectError as error:
                raise ObjectError(f"objects[{place}] ({reference(one)}): {error}") from None
        return found

    @classmethod
    def of(cls, raws: Iterable[Json], pods: Iterable[Pod] = ()) -> tuple[Described, list[tuple[str, str]]]:
        """As ``read``, without what cannot be read, which is listed as (object, reason).

        ``pods`` are some of them that were read already.
        """
        found, problems = cls([], [], [], {}, {}, {}, {}), list[tuple[str, str]]()
        known = {id(pod.raw): pod for pod in pods}
        for one in raws:
            try:
                found._take(one, known.get(id(one)))
            except ObjectError as error:
                problems.append((reference(one), str(error)))
        return found, problems

    def _take(self, raw: Json, pod: Pod | None = None) -> None:
        kind, metadata = text(raw, "kind"), mapping(raw, "metadata")
        name = text(metadata, "name", "metadata.")
        match kind:
            case "Node":
                self.nodes.append(Node.read(raw))
                read_list(mapping(raw, "status"), "capacity", "status.")
            case "Pod":
                self.pods.append(view(raw, self.asked, pod))
            case "PodDisruptionBudget":
                self.budgets.append(DisruptionBudget.read(raw))
            case "Namespace":
                self.namespaces[name] = string_map(metadata, "labels", "metadata.")
            case "PersistentVolumeClaim":
                storage = text(mapping(raw, "spec"), "storageClassName", "spec.")
                self.claims[f"{text(metadata, 'namespace', 'metadata.') or 'default'}/{name}"] = storage or None
            case "PriorityClass":
                self.classes[name] = integer(raw, "value")
            case "":
                raise ObjectError("kind: is missing")

    def cluster(self, shuffle: Random | None = None) -> Cluster:
        """A cluster of its own, with nodes and pods in their order, or in another one."""
        nodes, pods = list(self.nodes), list(self.pods)
        if shuffle is not None:
            shuffle.shuffle(nodes)
            shuffle.shuffle(pods)
        cluster = Cluster(nodes, self.budgets, self.namespaces, self.claims)
        cluster.add(pods)
        return cluster


def answer(raw: Json, clock: Callable[[], float], *, runs: int = RUNS, shuffles: int = SHUFFLES) -> Json:
    """What the descheduler would evict. ``clock`` tells the time (seconds of the epoch) where the scenario does not.

    Raises DeschedulingError.
    """
    name = raw.get("name") or ""
    if not isinstance(name, str):
        raise DeschedulingError("name: must be a string")
    try:
        described = Described.read(raw)
        metrics = Metrics.read(mapping(raw, "metrics"))
        now = moment(raw, "now")
        document = mapping(raw, "policy")
    except ObjectError as error:
        raise DeschedulingError(f"{name}: {error}" if name else str(error)) from None

    def once(chance: Random | None, shuffle: Random | None) -> CycleResult:
        policy = load_policy(document, described.classes)
        return run_cycle(policy, described.cluster(shuffle), clock() if now is None else now, metrics, chance)

    return {"name": name, **_answered(once, runs, shuffles)}


def _answered(once: Callable[[Random | None, Random | None], CycleResult], runs: int, shuffles: int) -> Json:
    settled: Json = {"evicted": [], "ordered": True, "orderIndependent": True}
    try:
        first = once(None, None)
    except (PolicyRefused, SelectorError) as refused:
        return {"error": str(refused), **settled}
    if first.skipped:
        return {"skipped": first.skipped, **settled}
    chance = Random(SEED)  # noqa: S311 - only other orders are wanted
    again = [once(chance, None) for _ in range(runs - 1)]
    listed = [_canonical(one.evicted) for one in (first, *again)]
    outcomes = list({json.dumps(one): one for one in listed}.values())
    ordered = all(one.evicted == first.evicted for one in again)
    sets = (_pods(once(chance, chance).evicted) for _ in range(shuffles))
    independent = len(outcomes) == 1 and all(pods == _pods(first.evicted) for pods in sets)
    found: Json = {
        "evicted": [one.to_dict() for one in first.evicted] if ordered else outcomes[0],
        "ordered": ordered,
        "orderIndependent": independent,
    }
    more = {
        "failures": first.failures if all(one.failures == first.failures for one in again) else [],
        "pluginErrors": first.outcome.plugin_errors,
        "classification": sorted(first.outcome.classes, key=_class_order),
        "notes": first.outcome.notes,
        "alternatives": outcomes[1:],
    }
    return found | {key: value for key, value in more.items() if value}


def _canonical(evicted: Iterable[Eviction]) -> list[Json]:
    """Neighbours of one profile and plugin sorted by pod."""
    groups = groupby(evicted, lambda one: (one.profile, one.plugin))
    return [one.to_dict() for _, group in groups for one in sorted(group, key=lambda one: one.pod)]


def _pods(evicted: Iterable[Eviction]) -> list[str]:
    return sorted(one.pod for one in evicted)


def _class_order(one: Json) -> Any:
    return one.get("profile", ""), one["plugin"], one["node"]
