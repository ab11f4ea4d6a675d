"""Links to nodes and pods, the same on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from kschedweb.clusters.redaction import UNNAMED

if TYPE_CHECKING:
    from django.template import Context
    from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def node_link(context: Context, name: str, cluster: str = "") -> SafeString | str:
    """Return the name of a node as a link to its page; without a ``cluster``, as for nodes of runs, the name alone.

    The page shows the snapshot, the moment and the policy that the address of this page names.
    """
    if not cluster or not name:
        return name
    scope = context.get("scope")
    asked = context["request"].GET if "request" in context else {}
    query = {"cluster": cluster} | {key: asked[key] for key in ("policy", "revision") if asked.get(key)}
    return format_html(
        '<a href="{}">{}</a>', reverse("node", args=[name], query=query | (scope.pin if scope else {})), name
    )


@register.simple_tag
def pod_link(key: str, cluster: str, query: str = "") -> SafeString | str:
    """Return the pod "namespace/name" as a link to its decision; the name alone if the reader may not view it."""
    namespace, _, name = key.partition("/")
    if key == UNNAMED:
        return gettext("in another namespace")
    return format_html('<a href="{}{}">{}</a>', reverse("decision", args=[cluster, namespace, name]), query, key)
