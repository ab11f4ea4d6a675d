"""The map of a snapshot, for pages of packages below this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template
from django.utils import timezone

from kschedweb.watermarks import node_maps
from kschedweb.watermarks.usage.selectors import load_current_use
from kschedweb.web.nodemap.nodemap import MapChoice

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.web.nodemap.nodemap import NodeMap

register = template.Library()


@register.simple_tag(takes_context=True)
def snapshot_map(context: dict[str, Any], snapshot: Snapshot) -> NodeMap | None:
    """Return the map of all nodes of ``snapshot`` as the address colours it; None for none, or too many."""
    use = load_current_use(snapshot.cluster, timezone.now())
    return node_maps.map_snapshot(snapshot, MapChoice.from_address(context["request"].GET), use=use)
