"""The decision page, the page of load-aware policies, and those of predicates and priorities."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground import classic_views, load_views, views

urlpatterns = [
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/", views.decision, name="decision"),
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/nodes/", views.node_names, name="decision-nodes"),
    path("classic/", classic_views.everything, name="classic"),
    path("classic/<str:name>/", classic_views.one, name="classic-entry"),
    path("watermarks/policies/", load_views.policies, name="watermark-policies"),
    path("watermarks/policies/pods/", load_views.pod_names, name="watermark-policies-pods"),
]
