"""Renderers of a verdict; ``Accept`` chooses one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import BaseRenderer, JSONRenderer

from kschedweb.engine.studies.gate import rendering


class _Rendered(BaseRenderer):
    charset = "utf-8"
    # The form by which the engine renders it.
    form = ""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        # Names of pods may contain lone surrogates, which UTF-8 cannot encode. OPTIONS has no data.
        return rendering.render_verdict(data, self.form).encode("utf-8", "backslashreplace") if data else b""


class JUnitRenderer(_Rendered):
    media_type = "application/xml"
    format = "junit"
    form = "junit"


class TextXMLRenderer(JUnitRenderer):
    """JUnit XML under the other media type of XML."""

    media_type = "text/xml"
    format = "xml"


class MarkdownRenderer(_Rendered):
    media_type = "text/markdown"
    format = "markdown"
    form = "markdown"


RENDERERS = (JSONRenderer, JUnitRenderer, TextXMLRenderer, MarkdownRenderer)
