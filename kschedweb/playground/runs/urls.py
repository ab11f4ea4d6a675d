"""The pages of runs and comparisons."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.runs import explained, views
from kschedweb.playground.runs.comparisons import views as comparison_views

urlpatterns = [
    path("runs/", views.runs, name="runs"),
    path("runs/new/", views.new, name="run-new"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/report/", views.report, name="run-report"),
    path("runs/<uuid:run_id>/delete/", views.delete, name="run-delete"),
    path("runs/<uuid:run_id>/pods/<str:namespace>/<str:pod>/", views.decision, name="run-decision"),
    path("scenarios/<uuid:scenario_id>/explained/", explained.explained, name="scenario-explained"),
    path("comparisons/", comparison_views.comparisons, name="comparisons"),
    path("comparisons/new/", comparison_views.new, name="comparison-new"),
    path("comparisons/<uuid:comparison_id>/", comparison_views.comparison, name="comparison"),
    path("comparisons/<uuid:comparison_id>/report/", comparison_views.report, name="comparison-report"),
    path("comparisons/<uuid:comparison_id>/share/", comparison_views.share, name="comparison-share"),
    path("comparisons/<uuid:comparison_id>/rename/", comparison_views.rename, name="comparison-rename"),
    path("comparisons/<uuid:comparison_id>/cancel/", comparison_views.cancel, name="comparison-cancel"),
    path("comparisons/<uuid:comparison_id>/delete/", comparison_views.delete, name="comparison-delete"),
]
