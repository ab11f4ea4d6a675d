"""A cluster, offers and NodePools described in JSON, and what Karpenter would do, in the form of the command line.

Karpenter walks maps, so that ties are left to chance. A scenario is run again with other choices (``runs``), and other
answers are told as alternatives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState, read_cluster_state
from kschedweb.engine.autoscaling.disruption.node_explanations import explain_nodes
from kschedweb.engine.autoscaling.disruption.output import disrupt_cluster
from kschedweb.engine.autoscaling.provisioning.offer_explanations import explain_offers, explain_pools
from kschedweb.engine.autoscaling.provisioning.output import provision_nodes
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.objects.json_access import Json, ObjectError, get_boolean, get_string, get_time

RUNS, MOST_ALTERNATIVES = 8, 6
SEED = 1  # of the other choices; in the first run the first by name is chosen


class AutoscalingError(ValueError):
    """A scenario that cannot be run; the text says where and why."""


def answer_scenario(raw: Json, clock: Callable[[], float], *, runs: int = RUNS) -> Json:
    """What Karpenter would do. ``clock`` tells the time (seconds of the epoch) where the scenario does not.

    Raises AutoscalingError.
    """
    name = raw.get("name") or ""
    try:
        name = get_string(raw, "name")
        now = get_time(raw, "now")
        world = read_cluster_state(raw, clock() if now is None else now)
        disrupting, explaining = get_boolean(raw, "disrupt"), get_boolean(raw, "explain")
    except ObjectError as error:
        raise AutoscalingError(f"{name}: {error}" if isinstance(name, str) and name else str(error)) from None
    chance = Random(SEED)  # noqa: S311 - only other choices are wanted
    first = _run_once(name, world, disrupting, None)
    other_answers = [_run_once(name, world, disrupting, chance) for _ in range(runs - 1)]
    return first | _find_variations(first, other_answers) | (explain_cluster(world, disrupting) if explaining else {})


def explain_cluster(world: ClusterState, disrupting: bool) -> Json:
    """Why NodePools, new nodes and, where ``disrupting``, the nodes that are there are what they are."""
    context = SchedulingContext(world)
    explanations: Json = {"nodePools": explain_pools(context), "newNodes": explain_offers(context)}
    return {"explained": explanations | ({"nodes": explain_nodes(context)} if disrupting else {})}


def _run_once(name: str, world: ClusterState, disrupting: bool, chance: Random | None) -> Json:
    context = SchedulingContext(world)
    result: Json = {"name": name}
    if world.faults:
        result["nodePoolErrors"] = dict(world.faults)
    result["provisioning"] = provision_nodes(context, chance)
    if disrupting:
        result["disruption"] = disrupt_cluster(context, chance)
    return result


def _find_variations(first: Json, other_answers: list[Json]) -> Json:
    """The answers that differ in more than words, and whether words differ."""
    bare, texts, reasons = _strip_texts(first)
    seen_answers, alternatives, more = {bare}, list[Json](), {}
    for other_answer in other_answers:
        other, of_errors, of_reasons = _strip_texts(other_answer)
        if of_errors != texts:
            more["errorTextsVary"] = True
        if of_reasons != reasons:
            more["reasonsVary"] = True
        if other not in seen_answers:
            seen_answers.add(other)
            alternatives.append(json.loads(other))
    if len(alternatives) > MOST_ALTERNATIVES:
        more["alternativesLeftOff"] = True
    return more | ({"alternatives": alternatives[:MOST_ALTERNATIVES]} if alternatives else {})


def _strip_texts(answer: Json) -> tuple[str, str, str]:
    """An answer without what may differ in words only, the texts of its errors, and its reasons."""
    provisioning, disruption = answer["provisioning"], answer.get("disruption")
    bare = {**answer, "provisioning": {**provisioning, "podErrors": dict.fromkeys(provisioning["podErrors"], "")}}
    if disruption is not None:
        bare["disruption"] = {key: value for key, value in disruption.items() if key != "reasons"}
    reasons = None if disruption is None else disruption.get("reasons")
    texts = json.dumps(provisioning["podErrors"], sort_keys=True)
    return json.dumps(bare, sort_keys=True), texts, json.dumps(reasons, sort_keys=True)
