"""Read how live schedulers answer kube-scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.cycle import extender_handler
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.schedulers.models import Mode
from kschedweb.live.schedulers.selectors import ProfileError, live_configuration, revision_in_force

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.config import Configuration
    from kschedweb.live.schedulers.models import LiveScheduler

# The extension points at which an extender can replace plugins.
POINTS = ("filter", "score")


def endpoint_of(live: LiveScheduler) -> Endpoint:
    """Return the endpoint of ``live``, an unsaved one with the default settings if nothing was set yet."""
    endpoint = Endpoint.objects.filter(scheduler=live).first() or Endpoint()
    endpoint.scheduler = live
    return endpoint


def configuration_of(live: LiveScheduler) -> Configuration:
    """Return the configuration with the one profile that decides."""
    return live_configuration(live, revision_in_force(live))


def list_extenders(schedulers: QuerySet[LiveScheduler]) -> list[tuple[LiveScheduler, Endpoint, list[str]]]:
    """Return each of ``schedulers`` in mode extender, with its endpoint and the plugins that decide.

    The plugins are empty if the configuration cannot be used any more.
    """
    rows = []
    for live in schedulers.filter(mode=Mode.EXTENDER):
        endpoint = endpoint_of(live)
        try:
            plugins = plugins_in_force(endpoint, configuration_of(live))
        except ProfileError:
            plugins = []
        rows.append((live, endpoint, plugins))
    return rows


def choosable_plugins(configuration: Configuration) -> dict[str, tuple[str, ...]]:
    """Return the plugins that filter or score, in the order of the profile, each with those of the two points."""
    points_by_plugin: dict[str, tuple[str, ...]] = {}
    for point in POINTS:
        for ref in configuration.profiles[0].points.get(point, ()):
            points_by_plugin[ref.name] = (*points_by_plugin.get(ref.name, ()), point)
    return points_by_plugin


def plugins_in_force(endpoint: Endpoint, configuration: Configuration) -> list[str]:
    """Return the plugins that decide, in the order of the profile."""
    chosen = extender_handler.choose_plugins(configuration, endpoint.plugins)
    return [name for name in choosable_plugins(configuration) if name in chosen]


def weight_in_force(endpoint: Endpoint, configuration: Configuration) -> int:
    """Return the weight to paste: the one that was set, else the plugins' weights together."""
    return endpoint.weight or extender_handler.compute_weight(configuration, plugins_in_force(endpoint, configuration))
