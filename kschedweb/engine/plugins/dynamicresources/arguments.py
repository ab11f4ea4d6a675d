"""The arguments of DynamicResources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec
from kschedweb.engine.config.types import DURATION, Field
from kschedweb.engine.validation.fields import Problem, Typed, child, forbidden, invalid
from kschedweb.engine.validation.golang import SECOND, duration_text

NO_FILTER_TIMEOUT = "DRASchedulingFilterTimeout feature gate is disabled"
NO_BINDING_TIMEOUT = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
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


def arguments(release: Any) -> ArgsSpec:
    """The arguments in ``release``: a time limit of a feature whose gate is off has no default and is refused."""
    filters = release.on("DRASchedulerFilterTimeout")
    known = release.behaviour.devices_have_binding_timeout
    binds = known and release.on("DRADeviceBindingConditions") and release.on("DRAResourceClaimDeviceStatus")

    def set_defaults(args: dict[str, Any]) -> None:
        if filters and args["filterTimeout"] is None:
            args["filterTimeout"] = 10 * SECOND
        if binds and args["bindingTimeout"] is None:
            args["bindingTimeout"] = 600 * SECOND

    def problems(args: dict[str, Any], path: str) -> list[Problem]:
        found = _time_limit(args, path, "filterTimeout", 0, "" if filters else NO_FILTER_TIMEOUT)
        if not known:
            return found
        return found + _time_limit(args, path, "bindingTimeout", SECOND, "" if binds else NO_BINDING_TIMEOUT)

    return ArgsSpec(ARGS if known else replace(ARGS, fields=ARGS.fields[:-1]), set_defaults, problems)


def _time_limit(args: dict[str, Any], path: str, name: str, least: int, gated: str) -> list[Problem]:
    if args[name] is None:
        return []
    if gated:
        return [forbidden(child(path, name), gated)]
    if args[name] >= least:
        return []
    words = "must be at least 1 second" if least else "must be zero or positive"
    return [invalid(child(path, name), Typed(duration_text(args[name])), words)]
