"""Validate a Clock: whether the sandbox's time stands still, and how fast it passes otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem, Typed, invalid

NAME = "main"
# Seconds of the sandbox in a real second.
SLOWEST, FASTEST = 1, 60


def clock_problems(raw: Json) -> Iterator[Problem]:
    """Yield what is wrong with a Clock, in the API server's words."""
    name, spec = raw["metadata"]["name"], raw.get("spec")
    if name != NAME:
        yield invalid("metadata.name", name, f'must be "{NAME}": there is one clock')
    if not isinstance(spec, dict):
        yield invalid("spec", Typed(spec), "must be an object with paused and speed")
        return
    for field in ("paused", "happenings"):
        if not isinstance(spec.get(field, False), bool):
            yield invalid(f"spec.{field}", Typed(spec[field]), "must be true or false")
    speed = spec.get("speed", SLOWEST)
    number = isinstance(speed, int | float) and not isinstance(speed, bool)
    if not number or not SLOWEST <= speed <= FASTEST:
        yield invalid("spec.speed", Typed(speed), f"must be a number between {SLOWEST} and {FASTEST}, inclusive")
