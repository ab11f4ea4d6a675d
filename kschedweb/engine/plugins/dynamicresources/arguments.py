"""The arguments of DynamicResources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs
from kschedweb.engine.config.types import DURATION, StructField
from kschedweb.engine.validation.fields import Problem, Typed, child_path, forbidden, invalid
from kschedweb.engine.validation.golang import SECOND, duration_text

NO_FILTER_TIMEOUT = "DRASchedulingFilterTimeout feature gate is disabled"
NO_BINDING_TIMEOUT = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
ARGS = args_struct(
    "DynamicResourcesArgs",
    "Time limits of dynamic resource allocation.",
    StructField(
        "filterTimeout",
        DURATION,
        "Longest time to look for devices on one node; 0s for no limit.",
        pointer=True,
        omit_empty=False,
        default="10s",
    ),
    StructField(
        "bindingTimeout",
        DURATION,
        "Longest wait for devices to become ready; at least 1s.",
        pointer=True,
        default="10m0s",
    ),
)


def args_spec(release: Any) -> ArgsSpec:
    """Return the arguments in ``release``.

    A time limit of a feature whose gate is off has no default and is refused.
    """
    filters = release.is_enabled("DRASchedulerFilterTimeout")
    has_binding_timeout = release.behaviour.dra_binding_timeout_argument
    binds = (
        has_binding_timeout
        and release.is_enabled("DRADeviceBindingConditions")
        and release.is_enabled("DRAResourceClaimDeviceStatus")
    )

    def set_defaults(args: PluginArgs) -> None:
        if filters and args["filterTimeout"] is None:
            args["filterTimeout"] = 10 * SECOND
        if binds and args["bindingTimeout"] is None:
            args["bindingTimeout"] = 600 * SECOND

    def validate_args(args: PluginArgs, path: str) -> list[Problem]:
        problems = _time_limit(args, path, "filterTimeout", 0, "" if filters else NO_FILTER_TIMEOUT)
        if not has_binding_timeout:
            return problems
        return problems + _time_limit(args, path, "bindingTimeout", SECOND, "" if binds else NO_BINDING_TIMEOUT)

    return ArgsSpec(
        ARGS if has_binding_timeout else replace(ARGS, fields=ARGS.fields[:-1]), set_defaults, validate_args
    )


def _time_limit(args: PluginArgs, path: str, name: str, minimum: int, gated: str) -> list[Problem]:
    if args[name] is None:
        return []
    if gated:
        return [forbidden(child_path(path, name), gated)]
    if args[name] >= minimum:
        return []
    words = "must be at least 1 second" if minimum else "must be zero or positive"
    return [invalid(child_path(path, name), Typed(duration_text(args[name])), words)]
