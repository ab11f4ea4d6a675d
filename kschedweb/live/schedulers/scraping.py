"""The metrics of live schedulers that this process hosts, at /metrics: for those who may read, and their tokens.

Embedded that is all of them. Scaled out the web hosts none, but answers kube-scheduler, and says so here: what hosts
live schedulers there serves its own (KSCHEDWEB_METRICS_PORT).
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
    """Whatever a scraper says that it takes, it gets the one form that there is."""

    media_type, format, charset = "*/*", "txt", None

    def render(self, data: Any, media_type: str | None = None, context: Any = None) -> bytes:
        return json.dumps(data).encode()  # a refusal


@page_part
class MetricsView(APIView):
    """What a scraper gets. It is not part of the REST API: its form is Prometheus' own."""

    action_required = Action.VIEW
    renderer_classes = (AnyRenderer,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        content, kind = render_exposition()
        return HttpResponse(content, content_type=kind)
