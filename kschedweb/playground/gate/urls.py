"""The pages of the gate."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.gate import views

urlpatterns = [
    path("gate/", views.gate, name="gate"),
    path("gate/<uuid:gate_id>/", views.verdict, name="gate-verdict"),
]
