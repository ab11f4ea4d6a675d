"""Answers about queues as plain data with their sentences, from which pages, REST and the command line are made."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.queue_positions import QueuedWorkload, QuotaHolder, list_positions
from kschedweb.engine.queueing.explaining.quota_bars import QuotaBar, QuotaTreeNode, describe_queue, list_trees
from kschedweb.engine.queueing.quota.amounts import UNLIMITED, FlavorResource, Requests
from kschedweb.queues import words
from kschedweb.queues.history import describe_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.engine.queueing.explaining.evictions import EvictionSearch
    from kschedweb.engine.queueing.explaining.explanation import PodSetExplanation, WorkloadExplanation
    from kschedweb.engine.queueing.explaining.forecast import Forecast
    from kschedweb.engine.queueing.explaining.queue_state import QueueState
    from kschedweb.engine.queueing.explaining.quota_chains import QuotaChain
    from kschedweb.engine.queueing.explaining.workload_history import WorkloadStep


def _write_time(seconds: float | None) -> str | None:
    return None if not seconds else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _limit(amount: int | None) -> int | None:
    """Return an amount; None where there is no limit."""
    return None if amount is None or amount == UNLIMITED else amount


# Queues


def describe_trees(state: QueueState) -> list[Json]:
    """Return all cohorts and queues, each after its parent."""
    return [_describe_node(state, node) for root in list_trees(state) for node in root.walk()]


def _describe_node(state: QueueState, node: QuotaTreeNode) -> Json:
    parent = (state.world.cache.forest.cohorts if node.kind == "cohort" else state.world.cache.queues)[node.name].parent
    return {
        "name": node.name,
        "kind": node.kind,
        "parent": parent.name if parent is not None else "",
        "depth": node.depth,
        "waiting": node.waiting,
        "admitted": node.admitted,
        "inactive": node.inactive,
        "weight": node.weight,
        "share": None if math.isinf(node.share) else round(node.share, 3),
        "resources": [_describe_bar(bar) for bar in node.bars],
    }


def _describe_bar(bar: QuotaBar) -> Json:
    described = asdict(bar)
    return described | {
        name: _limit(described[name])
        for name in ("nominal", "subtree", "borrowing_limit", "lending_limit", "lendable", "available", "potential")
    }


def describe_queue_page(state: QueueState, name: str) -> Json | None:
    """Return a ClusterQueue with all that wait in it and have quota of it; None if there is none of that name."""
    node, spec = describe_queue(state, name), state.world.cluster_queues.get(name)
    if node is None or spec is None:
        return None
    pending = state.world.queues.queues.get(name)
    cached = state.world.cache.queues[name]
    holders = [
        QuotaHolder(
            info.key,
            name,
            info.workload.queue_name,
            info.workload.base_priority(),
            _find_since(info.workload),
            sum(total.count for total in info.total_requests),
            dict(info.usage.quota),
            False,
            info.workload.is_evicted,
        )
        for info in cached.workloads.values()
    ]
    return {
        **_describe_node(state, node),
        "strategy": "StrictFIFO" if pending is not None and pending.is_strict else "BestEffortFIFO",
        "within_cluster_queue": spec.preemption.within_queue,
        "reclaim_within_cohort": spec.preemption.reclaim,
        "borrow_within_cohort": spec.preemption.borrow,
        "stop_policy": spec.stop_policy,
        "local_queues": sorted(queue.key for queue in state.world.local_queues.values() if queue.cluster_queue == name),
        "workloads": [_describe_waiting(item, state) for item in list_positions(state, name)],
        "holders": [_describe_holder(item, state) for item in sorted(holders, key=lambda item: item.since)],
    }


def _find_since(workload: Any) -> float:
    condition = workload.find_condition("QuotaReserved")
    return condition.since if condition is not None else 0.0


def _describe_waiting(item: QueuedWorkload, state: QueueState) -> Json:
    return {
        "workload": item.key,
        "position": item.position,
        "local_queue": item.local_queue,
        "priority": item.priority,
        "since": _write_time(item.since),
        "waited_seconds": max(0, round(state.now - item.since)),
        "pods": item.pods,
        "requests": _list_amounts(item.requests),
        "asks": words.write_requests(item.requests),
        "message": item.message,
        "sticky": item.is_sticky,
        "backoff_until": _write_time(item.backoff_until),
    }


def _describe_holder(item: QuotaHolder, state: QueueState) -> Json:
    return {
        "workload": item.key,
        "cluster_queue": item.cluster_queue,
        "local_queue": item.local_queue,
        "priority": item.priority,
        "since": _write_time(item.since),
        "held_seconds": max(0, round(state.now - item.since)) if item.since else None,
        "pods": item.pods,
        "usage": [_describe_amount(key, amount) for key, amount in item.usage.items() if amount],
        "borrowing": item.is_borrowing,
        "evicted": item.is_evicted,
    }


def _describe_amount(key: FlavorResource, amount: int) -> Json:
    return {
        "flavor": key.flavor,
        "resource": key.resource,
        "amount": amount,
        "text": words.write_amount(amount, key.resource),
    }


def _list_amounts(requests: Requests) -> list[Json]:
    return [{"resource": resource, "amount": amount} for resource, amount in requests.items()]


# One workload


def describe_workload(answer: WorkloadExplanation, state: QueueState, steps: Iterable[WorkloadStep] = ()) -> Json:
    """Return the answer about a workload; ``steps`` are its history."""
    namespace, _, name = answer.key.partition("/")
    return {
        "workload": answer.key,
        "namespace": namespace,
        "name": name,
        "verdict": answer.verdict.value,
        **words.describe_verdict(answer.verdict),
        "title": words.render_title(answer),
        "details": words.render_details(answer),
        "local_queue": answer.local_queue,
        "cluster_queue": answer.cluster_queue,
        "priority": answer.priority,
        "created": _write_time(answer.created),
        "waited_seconds": max(0, round(state.now - answer.created)),
        "pods": answer.pods,
        "asks": words.write_requests(answer.requests),
        "requests": _list_amounts(answer.requests),
        "condition": answer.condition,
        "message": answer.message,
        "position": answer.position,
        "strict": answer.is_strict,
        "ahead": [_describe_waiting(item, state) for item in answer.ahead],
        "pod_sets": [_describe_pod_set(pod_set) for pod_set in answer.pod_sets],
        "limits": [_describe_chain(chain) for chain in answer.chains],
        "holders": [_describe_holder(item, state) for item in answer.holders],
        "evictions": _describe_search(answer.evictions, state),
        "remedies": [
            {
                "kind": remedy.kind.value,
                "sentence": words.render_remedy(remedy),
                "evicts": list(remedy.targets),
                "quotas": [
                    {
                        "node": change.node,
                        "flavor": change.key.flavor,
                        "resource": change.key.resource,
                        "before": _limit(change.before),
                        "after": _limit(change.after),
                    }
                    for change in remedy.quotas
                ],
                "before": remedy.before,
                "after": remedy.after,
            }
            for remedy in answer.remedies
        ],
        "forecast": _describe_forecast(answer.forecast),
        "next_cycle": asdict(answer.next_cycle) if answer.next_cycle is not None else None,
        "small_flavors": [
            {
                "flavor": nodes.flavor,
                "pod_set": nodes.pod_set,
                "count": nodes.count,
                "fitting": nodes.fitting,
                "nodes": nodes.nodes,
                "excluded": {exclusion.value: count for exclusion, count in nodes.excluded.items()},
                "sentence": words.explain_small_flavor(nodes),
            }
            for nodes in answer.small_flavors
        ],
        "history": describe_steps(steps),
        "fair_sharing": state.uses_fair_sharing,
    }


def _describe_pod_set(pod_set: PodSetExplanation) -> Json:
    return {
        "name": pod_set.name,
        "count": pod_set.count,
        "asks": words.write_requests(pod_set.requests),
        "flavors": pod_set.flavors,
        "attempts": [
            {
                "flavor": attempt.flavor,
                "mode": attempt.mode.text,
                "preemption": attempt.possibility or "",
                "borrow": attempt.borrow,
                "label": words.label_attempt(attempt),
                "color": words.color_attempt(attempt),
                "sentences": words.explain_attempt(attempt),
                "reasons": list(attempt.reasons),
                "checks": [
                    {
                        "resource": check.key.resource,
                        "requested": check.requested,
                        "available": check.available,
                        "capacity": _limit(check.capacity),
                        "missing": check.missing,
                    }
                    for check in attempt.checks
                ],
            }
            for attempt in pod_set.attempts
        ],
    }


def _describe_chain(chain: QuotaChain) -> Json:
    return {
        "flavor": chain.key.flavor,
        "resource": chain.key.resource,
        "limiting_node": chain.limiting_node,
        "limit": chain.limit,
        "sentence": words.explain_limit(chain),
        "steps": [
            {
                **asdict(step),
                "subtree": _limit(step.subtree),
                "nominal": _limit(step.nominal),
                "borrowing_room": _limit(step.borrowing_room),
                "available": _limit(step.available),
            }
            for step in chain.steps
        ],
        "hidden": [asdict(idle) for idle in chain.hidden],
    }


def _describe_search(search: EvictionSearch | None, state: QueueState) -> Json | None:
    if search is None:
        return None
    return {
        "sentence": words.explain_search(search),
        "is_searched": search.is_tried,
        "tied_cohorts": list(search.tied_cohorts),
        "needed": [{"flavor": key.flavor, "resource": key.resource} for key in search.needed],
        "candidates": [
            {
                **_describe_holder(candidate.holder, state),
                "verdict": candidate.verdict.value,
                "rule": candidate.rule,
                "sentence": words.explain_candidate(candidate),
            }
            for candidate in search.candidates
        ],
    }


def _describe_forecast(forecast: Forecast | None) -> Json | None:
    if forecast is None:
        return None
    plays = [play for play in (forecast.early, forecast.late) if play is not None]
    return {
        "sentence": words.render_forecast(forecast),
        "run_times": words.describe_run_times(forecast.run_times) if forecast.run_times is not None else "",
        "is_known": forecast.is_known,
        "earliest_seconds": plays[0].seconds if plays else None,
        "latest_seconds": plays[-1].seconds if plays else None,
        "finished": plays[-1].finished if plays else 0,
        "evicted": plays[-1].evicted if plays else 0,
        "assumes_checks": forecast.assumes_checks,
        "loops": [words.describe_loop(loop) for loop in forecast.loops[: words.MOST_LOOPS]],
    }


# Bars


def draw_bars(nodes: Iterable[Json]) -> list[Json]:
    """Return ``nodes`` with the widths of their bars, in percent of the most that a node could use."""
    return [node | {"resources": [bar | _draw_bar(bar) for bar in node["resources"]]} for node in nodes]


def _draw_bar(bar: Json) -> Json:
    subtree, used = bar["subtree"], bar["used"]
    length = max(bar["potential"] or 0, subtree or 0, used)
    if subtree is None or length <= 0:
        return {"own_width": "0%", "borrowed_x": "0%", "borrowed_width": "0%", "quota_x": "0%"}
    used_own = min(used, subtree)
    return {
        "own_width": _percent(used_own, length),
        "borrowed_x": _percent(used_own, length),
        "borrowed_width": _percent(used - used_own, length),
        "quota_x": _percent(subtree, length),
    }


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"
