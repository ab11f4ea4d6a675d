"""Pages of the frame: overview, inventory, search."""

from __future__ import annotations

from django.urls import path

from kschedweb.dashboard import views

urlpatterns = [
    path("", views.overview, name="overview"),
    path("reasons/", views.overview_reasons, name="overview-reasons"),
    path("nodes/", views.nodes, name="nodes"),
    path("pods/", views.pods, name="pods"),
    path("pods/<str:namespace>/<str:pod>/message/", views.pod_message, name="pod-message"),
    path("resolved/", views.resolved, name="resolved"),
    path("namespaces/", views.namespaces, name="namespaces"),
    path("search/", views.search, name="search"),
    path("theme/", views.theme, name="theme"),
    path("language/", views.language, name="language"),
    path("words/<str:language>.js", views.words, name="words"),
]
