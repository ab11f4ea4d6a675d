"""Set up the quota queues that a scenario has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects
from kschedweb.engine.queueing.explaining.queue_state import KUEUE_KINDS, has_queues
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.simulation.quota_queues.actor import QueueingSetup
from kschedweb.engine.studies.actors.preparing import ActorPart, ScenarioActor
from kschedweb.engine.studies.actors.queues.keys import (
    AMOUNT_KEYS,
    COHORT_KEYS,
    FIELD,
    QUOTA,
    RULE_PLACES,
    RULES,
    QueueRules,
    QueueSettings,
    QuotaSettings,
)
from kschedweb.engine.studies.document.document import ScenarioError

NAMESPACED = frozenset({"LocalQueue", "Workload"})
# Kinds of objects that have quotas.
QUOTA_KINDS = tuple(COHORT_KEYS)


def prepare_queues(objects: Sequence[Json], settings: QueueSettings | None) -> ActorPart:
    """Return quota queues with the scenario's quotas. Raises ScenarioError."""
    if settings is None:
        return ActorPart(list(objects))
    listed = [_with_namespace(raw) for raw in objects]
    if not has_queues(listed):
        raise ScenarioError([DocumentProblem(FIELD.name, "there is no ClusterQueue among the objects")])
    listed = change_queues(listed, settings)
    notes = tuple(list_refusals(listed))
    try:
        setup = QueueingSetup.from_objects(
            listed, uses_fair_sharing=settings.fair_sharing, queue_label=settings.queue_label
        )
    except ObjectError as error:
        raise ScenarioError([DocumentProblem(FIELD.name, str(error))]) from None
    return ActorPart(listed, setup, notes)


def change_queues(objects: list[Json], settings: QueueSettings) -> list[Json]:
    """Return the objects with other quotas and rules of queues. Raises ScenarioError."""
    problems: list[DocumentProblem] = []
    changes: list[tuple[str, Callable[[list[Json]], list[Json]]]] = [
        *((f"quotas[{place}]", partial(_replace_quota, quota=quota)) for place, quota in enumerate(settings.quotas)),
        *((f"rules[{place}]", partial(_replace_rules, rules=rules)) for place, rules in enumerate(settings.rules)),
    ]
    for name, change in changes:
        try:
            objects = change(objects)
        except KeyError as error:
            problems.append(DocumentProblem(f"{FIELD.name}.{name}", str(error.args[0])))
    if problems:
        raise ScenarioError(problems)
    return objects


def _with_namespace(raw: Json) -> Json:
    metadata = raw.get("metadata")
    if raw.get("kind") not in NAMESPACED or not isinstance(metadata, dict) or metadata.get("namespace"):
        return raw
    return {**raw, "metadata": {**metadata, "namespace": "default"}}


def _replace_quota(objects: list[Json], quota: QuotaSettings) -> list[Json]:
    """Return the objects with another quota; raise KeyError with a message if there is none of the name."""
    _require_queue(objects, quota.queue)
    replaced = [_change_quota(raw, quota) if raw.get("kind") in QUOTA_KINDS else raw for raw in objects]
    if all(new is old for new, old in zip(replaced, objects, strict=True)):
        raise KeyError(f"{quota.queue} has no quota for {quota.resource} in flavor {quota.flavor}")
    return replaced


def _require_queue(objects: Sequence[Json], queue: str, kinds: tuple[str, ...] = QUOTA_KINDS) -> None:
    """Raise KeyError with a message unless one of the objects is the queue."""
    queues = [raw for raw in objects if raw.get("kind") in kinds]
    names = sorted({str(get_mapping(raw, "metadata").get("name")) for raw in queues})
    if queue not in names:
        raise KeyError(f"there is no {' or '.join(kinds)} {queue}; there are {', '.join(names)}")


def _replace_rules(objects: list[Json], rules: QueueRules) -> list[Json]:
    """Return the objects with other rules of a queue; raise KeyError with a message if there is none of the name."""
    # A Cohort has a place and a weight alone.
    suits_cohorts = replace(rules, cohort=None, weight=None) == QueueRules(rules.queue)
    kinds = QUOTA_KINDS if suits_cohorts else QUOTA_KINDS[:1]
    _require_queue(objects, rules.queue, kinds)
    return [
        _change_rules(raw, rules)
        if raw.get("kind") in kinds and get_mapping(raw, "metadata").get("name") == rules.queue
        else raw
        for raw in objects
    ]


def _change_rules(raw: Json, rules: QueueRules) -> Json:
    spec = dict(get_mapping(raw, "spec"))
    if rules.cohort is not None:
        newest, former = COHORT_KEYS[raw["kind"]]
        spec = {key: value for key, value in spec.items() if key not in (newest, former)}
        is_former = raw["kind"] == "ClusterQueue" and "v1beta1" in str(raw.get("apiVersion"))
        spec[former if is_former else newest] = rules.cohort
    for name, place in RULE_PLACES.items():
        value = getattr(rules, RULES.by_name[name].in_python)
        if value is not None:
            spec = _with_value(spec, place, value)
    return {**raw, "spec": spec}


def _with_value(parent: Json, place: Sequence[str], value: str) -> Json:
    """Return the mapping with another value at a place below it."""
    key, *below = place
    return {**parent, key: _with_value(get_mapping(parent, key), below, value) if below else value}


def _change_quota(raw: Json, quota: QuotaSettings) -> Json:
    """Return a queue with another quota; itself if it has no such quota."""
    if get_mapping(raw, "metadata").get("name") != quota.queue:
        return raw
    changed = deepcopy(raw)
    matched = False
    for group in get_objects(get_mapping(changed, "spec"), "resourceGroups", "spec."):
        for flavor in get_objects(group, "flavors"):
            for resource in get_objects(flavor, "resources"):
                if (flavor.get("name"), resource.get("name")) == (quota.flavor, quota.resource):
                    resource.update(_list_amounts(quota))
                    matched = True
    return changed if matched else raw


def _list_amounts(quota: QuotaSettings) -> dict[str, str]:
    amounts = {key: getattr(quota, QUOTA.by_name[name].in_python) for name, key in AMOUNT_KEYS.items()}
    return {key: amount for key, amount in amounts.items() if amount is not None}


def list_refusals(objects: Sequence[Json]) -> Iterator[str]:
    """Yield what Kueue's webhooks would refuse; the objects are used as they are."""
    for raw in objects:
        if raw.get("kind") not in KUEUE_KINDS or not str(raw.get("apiVersion", "")).startswith("kueue"):
            continue
        try:
            refusals = find_object_refusals(raw, DEFAULT_GATES)
        except ObjectError as error:
            refusals = [str(error)]
        name = get_mapping(raw, "metadata").get("name")
        yield from (f"{raw['kind']} {name}: Kueue would refuse it: {refusal}" for refusal in refusals)


ACTOR = ScenarioActor(FIELD.name, prepare_queues)
