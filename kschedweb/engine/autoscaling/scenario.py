"""A cluster, offers and NodePools described in JSON, and what Karpenter would do, in the form of the command line.

Karpenter walks maps, so that ties are left to chance. A scenario is run again with other choices (``runs``), and other
answers are told as alternatives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from kschedweb.engine.autoscaling.cluster.world import World, read_world
from kschedweb.engine.autoscaling.disruption.answering import disrupt
from kschedweb.engine.autoscaling.disruption.explaining import explain_nodes
from kschedweb.engine.autoscaling.provisioning.answering import provision
from kschedweb.engine.autoscaling.provisioning.explaining import explain_offers, explain_pools
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.objects.access import Json, ObjectError, boolean, moment, text

RUNS, MOST_ALTERNATIVES = 8, 6
SEED = 1  # of the other choices; in the first run the first by name is chosen


class AutoscalingError(ValueError):
    """A scenario that cannot be run; the text says where and why."""


def answer(raw: Json, clock: Callable[[], float], *, runs: int = RUNS) -> Json:
    """What Karpenter would do. ``clock`` tells the time (seconds of the epoch) where the scenario does not.

    Raises AutoscalingError.
    """
    name = raw.get("name") or ""
    try:
        name = text(raw, "name")
        now = moment(raw, "now")
        world = read_world(raw, clock() if now is None else now)
        disrupting, explaining = boolean(raw, "disrupt"), boolean(raw, "explain")
    except ObjectError as error:
        raise AutoscalingError(f"{name}: {error}" if isinstance(name, str) and name else str(error)) from None
    chance = Random(SEED)  # noqa: S311 - only other choices are wanted
    first = _once(name, world, disrupting, None)
    others = [_once(name, world, disrupting, chance) for _ in range(runs - 1)]
    return first | _varied(first, others) | (explained(world, disrupting) if explaining else {})


def explained(world: World, disrupting: bool) -> Json:
    """Why NodePools, new nodes and, where ``disrupting``, the nodes that are there are what they are."""
    ground = Ground(world)
    found: Json = {"nodePools": explain_pools(ground), "newNodes": explain_offers(ground)}
    return {"explained": found | ({"nodes": explain_nodes(ground)} if disrupting else {})}


def _once(name: str, world: World, disrupting: bool, chance: Random | None) -> Json:
    ground = Ground(world)
    found: Json = {"name": name}
    if world.faults:
        found["nodePoolErrors"] = dict(world.faults)
    found["provisioning"] = provision(ground, chance)
    if disrupting:
        found["disruption"] = disrupt(ground, chance)
    return found


def _varied(first: Json, others: list[Json]) -> Json:
    """The answers that differ in more than words, and whether words differ."""
    bare, texts, reasons = _bare(first)
    seen, alternatives, more = {bare}, list[Json](), {}
    for one in others:
        other, of_errors, of_reasons = _bare(one)
        if of_errors != texts:
            more["errorTextsVary"] = True
        if of_reasons != reasons:
            more["reasonsVary"] = True
        if other not in seen:
            seen.add(other)
            alternatives.append(json.loads(other))
    if len(alternatives) > MOST_ALTERNATIVES:
        more["alternativesLeftOff"] = True
    return more | ({"alternatives": alternatives[:MOST_ALTERNATIVES]} if alternatives else {})


def _bare(told: Json) -> tuple[str, str, str]:
    """An answer without what may differ in words only, the texts of its errors, and its reasons."""
    provisioning, disruption = told["provisioning"], told.get("disruption")
    bare = {**told, "provisioning": {**provisioning, "podErrors": dict.fromkeys(provisioning["podErrors"], "")}}
    if disruption is not None:
        bare["disruption"] = {key: value for key, value in disruption.items() if key != "reasons"}
    reasons = None if disruption is None else disruption.get("reasons")
    texts = json.dumps(provisioning["podErrors"], sort_keys=True)
    return json.dumps(bare, sort_keys=True), texts, json.dumps(reasons, sort_keys=True)
