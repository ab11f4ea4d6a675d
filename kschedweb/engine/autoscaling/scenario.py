"""A cluster, instance types and NodePools in JSON, and what Karpenter would do, in the command line's format.

Karpenter ranges over Go maps, which leaves ties to chance. A scenario is run ``runs`` times with other choices, and
different answers are reported as alternatives.
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
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_boolean, get_string, get_time

# Runs of a scenario, and the most alternatives reported.
RUNS, MOST_ALTERNATIVES = 8, 6
# Seed of the other choices; the first run takes the first by name.
SEED = 1


class AutoscalingError(ValueError):
    """A scenario that cannot be run; the text has the place and the reason."""


def answer_scenario(raw: Json, clock: Callable[[], float], *, runs: int = RUNS) -> Json:
    """Return what Karpenter would do. ``clock`` gives the time (seconds of the epoch) if the scenario does not.

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
    """Explain NodePools and new nodes and, with ``disrupting``, the existing nodes."""
    context = SchedulingContext(world)
    explanations: Json = {"nodePools": explain_pools(context), "newNodes": explain_offers(context)}
    return {"explained": explanations | ({"nodes": explain_nodes(context)} if disrupting else {})}


def _run_once(name: str, world: ClusterState, disrupting: bool, chance: Random | None) -> Json:
    # A fresh context for each run: daemons' constraints are relaxed while it is built.
    context = SchedulingContext(world)
    result: Json = {"name": name}
    if world.faults:
        result["nodePoolErrors"] = dict(world.faults)
    result["provisioning"] = provision_nodes(context, chance)
    if disrupting:
        result["disruption"] = disrupt_cluster(context, chance)
    return result


def _find_variations(first: Json, other_answers: list[Json]) -> Json:
    """Return the answers that differ in more than texts, and whether texts differ."""
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
    """Split an answer into the part without texts, the texts of its errors, and its reasons."""
    provisioning, disruption = answer["provisioning"], answer.get("disruption")
    bare = {**answer, "provisioning": {**provisioning, "podErrors": dict.fromkeys(provisioning["podErrors"], "")}}
    if disruption is not None:
        bare["disruption"] = {key: value for key, value in disruption.items() if key != "reasons"}
    reasons = None if disruption is None else disruption.get("reasons")
    texts = json.dumps(provisioning["podErrors"], sort_keys=True)
    return json.dumps(bare, sort_keys=True), texts, json.dumps(reasons, sort_keys=True)
