"""Clones that fit: the same number on the same nodes, and the same words for the next one, as kube-scheduler."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from random import Random

import pytest

from kschedweb.engine import Snapshot
from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.releases import load
from kschedweb.engine.studies.capacity.capacity import fit_clones
from kschedweb.engine.studies.capacity.shapes import PodShape
from tests.conformance.hunting import KINDS, SEED
from tests.conformance.reference import Reference

pytestmark = pytest.mark.live
LIMIT = 60  # clones; the scenarios' nodes are small


def _draw_case(random: Random, number: int, release: Release) -> tuple[Json, Snapshot, PodShape] | None:
    """A scenario, its cluster, and a shape of its pending pods, one that fits if there is any; ``None`` without any."""
    scenario = KINDS[("mixed", "amounts")[number % 2]].make(random, f"capacity-{number}")
    configuration = load(scenario.get("config") or EMPTY, release).configuration
    objects = scenario.get("objects") or []
    snapshot = Snapshot.from_objects(objects, keep_finished=True, counting=release.counting)
    shapes = []
    for raw in scenario.get("pending") or ():
        shape, spec = PodShape("clone", raw), raw.get("spec") or {}
        with suppress(ObjectError):
            shape.clone(1)
            if not spec.get("schedulingGates") and not spec.get("nodeName"):
                shapes.append(shape)
    if configuration is None or not shapes:
        return None
    fitting = (shape for shape in shapes if fit_clones(snapshot, configuration, shape, limit=1).count)
    return scenario, snapshot, next(fitting, shapes[0])


def test_as_many_clones_fit_as_the_real_scheduler_places(reference: Reference) -> None:
    random = Random(SEED)
    cases = [case for number in range(60) if (case := _draw_case(random, number, reference.release)) is not None]
    counted = []
    for scenario, snapshot, shape in cases:
        configuration = load(scenario.get("config") or EMPTY, reference.release).configuration
        assert configuration is not None
        counted.append(fit_clones(snapshot, configuration, shape, limit=LIMIT))
    scenarios = [
        {**scenario, "pending": [shape.clone(number).raw for number in range(1, fits.count + 1 + fits.exact)]}
        for (scenario, _, shape), fits in zip(cases, counted, strict=True)
    ]
    answers = reference.answers("schedule", scenarios)
    compared = Counter[str]()
    for scenario, fits, answer in zip(scenarios, counted, answers, strict=True):
        if "error" in answer or fits.failed:
            continue
        message = f"HUNT_SEED={SEED} {json.dumps(scenario)}"
        placements = answer["placements"]
        nodes = [placement["node"] for placement in placements[: fits.count]]
        assert nodes == [fits.names[node] for node in fits.order.tolist()], message
        compared["placed"] += bool(nodes)
        if fits.exact:
            assert "node" not in placements[-1], message
            assert placements[-1]["message"] == fits.message, message
            compared["refused"] += 1
    assert compared["placed"] >= 15
    assert compared["refused"] >= 20
