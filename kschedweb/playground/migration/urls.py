"""The pages of moves."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.migration import views

urlpatterns = [
    path("moves/", views.moves, name="moves"),
    path("moves/<uuid:question_id>/", views.answer, name="moves-answer"),
]
