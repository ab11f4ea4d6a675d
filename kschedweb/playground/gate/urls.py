"""The pages of the gate."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.gate import views
from kschedweb.playground.gate.releases import releases

urlpatterns = [
    path("gate/", views.gate, name="gate"),
    path("releases/", releases, name="releases"),
    path("gate/<uuid:gate_id>/", views.verdict, name="gate-verdict"),
]
