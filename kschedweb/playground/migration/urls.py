"""The pages of classic migration."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.migration import views
from kschedweb.web.moved import moved

urlpatterns = [
    path("migration/", views.migration, name="migration"),
    path("migration/<uuid:question_id>/", views.answer, name="migration-answer"),
    moved("moves/", "migration"),
    moved("moves/<uuid:question_id>/", "migration-answer"),
]
