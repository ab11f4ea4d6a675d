from django.urls import path

from kschedweb.playground.experiments import views

urlpatterns = [
    path("experiments/", views.experiments, name="experiments"),
    path("experiments/new/", views.new, name="experiment-new"),
    path("experiments/<uuid:experiment_id>/", views.experiment, name="experiment"),
]
