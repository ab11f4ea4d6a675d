"""The metrics of live schedulers that this process hosts, at /metrics, for people who may read and their tokens.

In an embedded installation these are all of them. In a scaled-out one the web process hosts none, but it answers
kube-scheduler, and has metrics of that; the hosts serve their own (KSCHEDWEB_METRICS_PORT).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.live.schedulers.metrics import render_exposition
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from rest_framework.request import Request


class AnyRenderer(BaseRenderer):
    """Renders the one format that there is, whatever the scraper's Accept header says."""

    media_type, format, charset = "*/*", "txt", None

    def render(self, data: Any, media_type: str | None = None, context: Any = None) -> bytes:
        # Only refusals of DRF come through here; the metrics are an HttpResponse.
        return json.dumps(data).encode()


@page_part
class MetricsView(APIView):
    """The exposition for scrapers. It is not part of the REST API, since its format is that of Prometheus."""

    action_required = Action.VIEW
    renderer_classes = (AnyRenderer,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        content, kind = render_exposition()
        return HttpResponse(content, content_type=kind)
