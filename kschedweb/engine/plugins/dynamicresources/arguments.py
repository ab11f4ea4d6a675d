"""The arguments of DynamicResources."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.types import DURATION, Field
from kschedweb.engine.validation.fields import Problem, Typed, child, invalid
from kschedweb.engine.validation.golang import SECOND, duration_text

ARGS = args_struct(
    "DynamicResourcesArgs",
    "Time limits of dynamic resource allocation.",
    Field(
        "filterTimeout",
        DURATION,
        "Longest time to look for devices on one node; 0s for no limit.",
        pointer=True,
        omit_empty=False,
        default="10s",
    ),
    Field(
        "bindingTimeout",
        DURATION,
        "Longest wait for devices to become ready; at least 1s.",
        pointer=True,
        default="10m0s",
    ),
)


def set_defaults(args: dict[str, Any]) -> None:
    if args["filterTimeout"] is None:
        args["filterTimeout"] = 10 * SECOND
    if args["bindingTimeout"] is None:
        args["bindingTimeout"] = 600 * SECOND


def problems(args: dict[str, Any], path: str) -> list[Problem]:
    found: list[Problem] = []
    if args["filterTimeout"] < 0:
        shown = Typed(duration_text(args["filterTimeout"]))
        found.append(invalid(child(path, "filterTimeout"), shown, "must be zero or positive"))
    if args["bindingTimeout"] < SECOND:
        shown = Typed(duration_text(args["bindingTimeout"]))
        found.append(invalid(child(path, "bindingTimeout"), shown, "must be at least 1 second"))
    return found
