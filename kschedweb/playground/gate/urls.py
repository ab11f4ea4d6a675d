"""The pages of the gate."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.gate import views
from kschedweb.playground.gate.release_views import show_releases

urlpatterns = [
    path("gate/", views.show_gate, name="gate"),
    path("releases/", show_releases, name="releases"),
    path("gate/<uuid:gate_id>/", views.show_verdict, name="gate-verdict"),
    path("gate/<uuid:gate_id>/delete/", views.delete_verdict, name="gate-delete"),
]
