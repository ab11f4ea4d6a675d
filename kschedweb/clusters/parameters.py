"""The parameters by which REST calls name a snapshot of a cluster, or a moment."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter

SNAPSHOT = OpenApiParameter(
    "snapshot", str, description="The id of a snapshot, or a moment as in `at`; the newest snapshot without either."
)
AT = OpenApiParameter(
    "at", str, description="A moment, such as 2026-11-22T03:12Z: the cluster as of then, where it was recorded."
)
