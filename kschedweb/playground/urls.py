"""The decision page, and the page of load-aware policies."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground import load_views, views

urlpatterns = [
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/", views.decision, name="decision"),
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/nodes/", views.node_names, name="decision-nodes"),
    path("watermarks/policies/", load_views.policies, name="watermark-policies"),
    path("watermarks/policies/pods/", load_views.pod_names, name="watermark-policies-pods"),
]
