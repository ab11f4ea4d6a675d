"""The pages of recorded use."""

from __future__ import annotations

from django.urls import path

from kschedweb.watermarks.usage import views

urlpatterns = [
    path("watermarks/", views.skew, name="watermarks"),
    path("watermarks/heatmap/", views.heatmap, name="watermark-heatmap"),
    path("watermarks/distribution/", views.distribution, name="watermark-distribution"),
    path("watermarks/nodes/", views.nodes, name="watermark-nodes"),
    path("watermarks/workloads/", views.workloads, name="watermark-workloads"),
]
