"""The pages of classic migration."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.migration import views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    path("migration/", views.show_migration, name="migration"),
    path("migration/<uuid:question_id>/", views.show_answer, name="migration-answer"),
    moved_route("moves/", "migration"),
    moved_route("moves/<uuid:question_id>/", "migration-answer"),
]
