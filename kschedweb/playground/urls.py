"""The decision page."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground import views

urlpatterns = [
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/", views.decision, name="decision"),
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/nodes/", views.node_names, name="decision-nodes"),
]
