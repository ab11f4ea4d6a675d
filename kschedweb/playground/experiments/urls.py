from django.urls import path

from kschedweb.playground.experiments import views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    moved_route("experiments/", "comparisons", kind="experiment"),
    path("experiments/new/", views.new_experiment, name="experiment-new"),
    path("experiments/<uuid:experiment_id>/", views.show_experiment, name="experiment"),
    path("experiments/<uuid:experiment_id>/report/", views.download_report, name="experiment-report"),
    path("experiments/<uuid:experiment_id>/delete/", views.delete_experiment, name="experiment-delete"),
]
