"""The pages of recorded use."""

from __future__ import annotations

from django.urls import path

from kschedweb.watermarks.usage import views
from kschedweb.web.moved import moved

urlpatterns = [
    path("usage/", views.skew, name="usage"),
    path("usage/heatmap/", views.heatmap, name="usage-heatmap"),
    path("usage/distribution/", views.distribution, name="usage-distribution"),
    path("usage/nodes/", views.nodes, name="usage-nodes"),
    path("usage/workloads/", views.workloads, name="usage-workloads"),
    moved("watermarks/", "usage"),
    moved("watermarks/heatmap/", "usage-heatmap"),
    moved("watermarks/distribution/", "usage-distribution"),
    moved("watermarks/nodes/", "usage-nodes"),
    moved("watermarks/workloads/", "usage-workloads"),
]
