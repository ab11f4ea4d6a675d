"""Answers in JSON, in the form of Kueue's own code as a program."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cycle.cycle import CycleResult
from kschedweb.engine.queueing.cycle.entries import ASSUMED, CycleEntry
from kschedweb.engine.queueing.quota.amounts import FlavorResource, format_amount, subtract_amounts
from kschedweb.engine.queueing.quota.quota_tree import QuotaNode
from kschedweb.engine.queueing.quota.shares import compute_share
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot, QueueingSnapshot
from kschedweb.engine.queueing.workloads.conditions import Condition
from kschedweb.engine.queueing.workloads.status_json import format_time
from kschedweb.engine.queueing.workloads.workload import Workload
from kschedweb.engine.queueing.world import KueueEvent, KueueWorld


def describe_conditions(conditions: Iterable[Condition]) -> list[Json]:
    return [condition.to_json() for condition in sorted(conditions, key=lambda item: item.type)]


def describe_cycle(
    number: int, result: CycleResult, world: KueueWorld, places: dict[str, str], changes: dict[str, list[Json]]
) -> Json:
    """Return what a cycle did and what followed it."""
    log = world.log
    entries = sorted(result.entries, key=lambda entry: entry.info.key)
    described: Json = {
        "idle": result.is_idle,
        "order": log.order,
        "entries": [_describe_entry(entry, world, places) for entry in entries],
        "preempted": [
            record.to_json() for record in sorted(log.preempted, key=lambda item: f"{item.preemptor} {item.key}")
        ],
        "madeReady": sorted(log.made_ready),
        "evicted": _describe_events(log.evicted),
        "released": sorted(log.released),
        "events": _describe_events(log.events),
        "queues": _describe_queues(world),
        "conditions": changes,
    }
    return {"cycle": number, **{key: value for key, value in described.items() if value}}


def _describe_events(events: list[KueueEvent]) -> list[Json]:
    ordered = sorted(events, key=lambda event: f"{{{event.key} {event.reason} {event.message}}}")
    return [event.to_json() for event in ordered]


def _describe_queues(world: KueueWorld) -> Json:
    queues = {}
    for name, queue in sorted(world.queues.queues.items()):
        places: Json = {"active": [], "inadmissible": []}
        for info in queue.list_pending():
            places["inadmissible" if info.key in queue.inadmissible else "active"].append(info.key)
        filled_places = {place: keys for place, keys in places.items() if keys}
        if filled_places:
            queues[name] = filled_places
    return queues


def _describe_entry(entry: CycleEntry, world: KueueWorld, places: dict[str, str]) -> Json:
    key = entry.info.key
    place = "none" if entry.status == ASSUMED else places.get(key, "none")
    described: Json = {
        "workload": key,
        "clusterQueue": entry.cluster_queue,
        "nominated": entry.has_assignment,
        "queuedIn": place,
    }
    optional: Json = {"status": entry.status, "message": entry.message, "requeueReason": entry.requeue_reason}
    if entry.is_requeued is not None:
        described["requeued"] = entry.is_requeued
    if entry.has_assignment:
        assignment = entry.assignment
        described["mode"] = assignment.mode.text
        optional["borrowing"] = assignment.borrowing
        optional["attempts"] = {
            pod_set.name: [attempt.to_json() for attempt in pod_set.attempts]
            for pod_set in assignment.pod_sets
            if pod_set.attempts
        }
    optional["targets"] = sorted(target.info.key for target in entry.targets)
    stored = world.workloads.get(key)
    if entry.status == ASSUMED and stored is not None and stored.status.admission is not None:
        optional["admission"] = stored.status.admission.to_json()
    return {**described, **{name: value for name, value in optional.items() if value}}


def describe_tree(snapshot: QueueingSnapshot) -> Json:
    """Return quota, usage and shares of all queues and cohorts."""
    return {
        "clusterQueues": {name: _describe_node(queue) for name, queue in sorted(snapshot.queues.items())},
        "cohorts": {name: _describe_node(cohort) for name, cohort in sorted(snapshot.cohorts.items())},
    }


def _describe_node(node: QuotaNode) -> Json:
    share = compute_share(node)
    resources = {*node.quotas, *node.subtree_quota, *(key for key, amount in node.usage.items() if amount)}
    described: Json = {
        "weight": node.fair_weight,
        "share": share.text,
        "weightedShare": share.rounded,
        "resources": [_describe_amounts(node, key) for key in sorted(resources)],
    }
    if node.parent is not None:
        described["parent"] = node.parent.name
    if share.resource:
        described["dominantResource"] = share.resource
    return described


def _describe_amounts(node: QuotaNode, key: FlavorResource) -> Json:
    def write(amount: int) -> str:
        return format_amount(key.resource, amount)

    quota = node.quota(key)
    described: Json = {
        "flavor": key.flavor,
        "resource": key.resource,
        "nominal": write(quota.nominal),
        "subtreeQuota": write(node.subtree(key)),
        "usage": write(node.used(key)),
    }
    if quota.borrowing_limit is not None:
        described["borrowingLimit"] = write(quota.borrowing_limit)
    if quota.lending_limit is not None:
        described["lendingLimit"] = write(quota.lending_limit)
    borrowed = subtract_amounts(node.used(key), node.subtree(key))
    if node.parent is not None and borrowed > 0:
        described["borrowed"] = write(borrowed)
    if isinstance(node, ClusterQueueSnapshot):
        described["available"] = write(node.available(key))
        described["potentialAvailable"] = write(node.potential_available(key))
    return described


def describe_workloads(workloads: Iterable[Workload]) -> Json:
    """Return how all workloads stand."""
    return {workload.key: _describe_workload(workload) for workload in workloads}


def _describe_workload(workload: Workload) -> Json:
    status = workload.status
    described: Json = {"state": workload.state}
    if status.conditions:
        described["conditions"] = describe_conditions(status.conditions)
    if status.admission is not None and status.admission.pod_sets:
        described["admission"] = status.admission.to_json()
    if status.requeue_at is not None:
        described["requeueAt"] = format_time(status.requeue_at)
    return described
