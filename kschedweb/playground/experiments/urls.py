from django.urls import path

from kschedweb.playground.experiments import views
from kschedweb.web.moved import moved

urlpatterns = [
    moved("experiments/", "comparisons", kind="experiment"),
    path("experiments/new/", views.new, name="experiment-new"),
    path("experiments/<uuid:experiment_id>/", views.experiment, name="experiment"),
]
