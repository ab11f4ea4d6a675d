"""Pages of the frame: overview, inventory, search."""

from __future__ import annotations

from django.urls import path

from kschedweb.dashboard import views

urlpatterns = [
    path("", views.show_overview, name="overview"),
    path("reasons/", views.show_reasons, name="overview-reasons"),
    path("nodes/", views.list_nodes, name="nodes"),
    path("pods/", views.list_pods, name="pods"),
    path("pods/<str:namespace>/<str:pod>/message/", views.show_pod_message, name="pod-message"),
    path("resolved/", views.show_resolved, name="resolved"),
    path("namespaces/", views.suggest_namespaces, name="namespaces"),
    path("search/", views.search_everything, name="search"),
    path("theme/", views.set_theme, name="theme"),
    path("language/", views.set_language, name="language"),
    path("words/<str:language>.js", views.serve_words, name="words"),
]
