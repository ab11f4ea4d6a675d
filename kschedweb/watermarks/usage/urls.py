"""The pages of recorded use."""

from __future__ import annotations

from django.urls import path

from kschedweb.watermarks.usage import views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    path("usage/", views.usage_skew, name="usage"),
    path("usage/heatmap/", views.usage_heatmap, name="usage-heatmap"),
    path("usage/distribution/", views.usage_distribution, name="usage-distribution"),
    path("usage/nodes/", views.usage_nodes, name="usage-nodes"),
    path("usage/workloads/", views.usage_workloads, name="usage-workloads"),
    moved_route("watermarks/", "usage"),
    moved_route("watermarks/heatmap/", "usage-heatmap"),
    moved_route("watermarks/distribution/", "usage-distribution"),
    moved_route("watermarks/nodes/", "usage-nodes"),
    moved_route("watermarks/workloads/", "usage-workloads"),
]
