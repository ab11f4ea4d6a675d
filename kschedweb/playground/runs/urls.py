"""The pages of runs and comparisons."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.runs import ready_views, views
from kschedweb.playground.runs.comparisons import views as comparison_views

urlpatterns = [
    path("runs/", views.list_runs, name="runs"),
    path("runs/new/", views.new_run, name="run-new"),
    path("runs/<uuid:run_id>/", views.show_run, name="run"),
    path("runs/<uuid:run_id>/report/", views.download_report, name="run-report"),
    path("runs/<uuid:run_id>/delete/", views.delete_run, name="run-delete"),
    path("runs/<uuid:run_id>/pods/<str:namespace>/<str:pod>/", views.show_decision, name="run-decision"),
    path("scenarios/<uuid:scenario_id>/explained/", ready_views.show_explained, name="scenario-explained"),
    path("comparisons/", comparison_views.show_comparisons, name="comparisons"),
    path("comparisons/new/", comparison_views.new_comparison, name="comparison-new"),
    path("comparisons/<uuid:comparison_id>/", comparison_views.show_comparison, name="comparison"),
    path("comparisons/<uuid:comparison_id>/report/", comparison_views.download_report, name="comparison-report"),
    path("comparisons/<uuid:comparison_id>/share/", comparison_views.share_comparison, name="comparison-share"),
    path("comparisons/<uuid:comparison_id>/rename/", comparison_views.rename_comparison, name="comparison-rename"),
    path("comparisons/<uuid:comparison_id>/cancel/", comparison_views.cancel_comparison, name="comparison-cancel"),
    path("comparisons/<uuid:comparison_id>/delete/", comparison_views.delete_comparison, name="comparison-delete"),
]
