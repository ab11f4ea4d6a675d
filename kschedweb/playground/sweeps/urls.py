from django.urls import path

from kschedweb.playground.sweeps import views

urlpatterns = [
    path("sweeps/", views.sweeps, name="sweeps"),
    path("sweeps/new/", views.new, name="sweep-new"),
    path("sweeps/<uuid:sweep_id>/", views.sweep, name="sweep"),
    path("sweeps/<uuid:sweep_id>/cancel/", views.cancel, name="sweep-cancel"),
    path("sweeps/<uuid:sweep_id>/resume/", views.resume, name="sweep-resume"),
    path("sweeps/<uuid:sweep_id>/delete/", views.delete, name="sweep-delete"),
    path("sweeps/<uuid:sweep_id>/save/", views.save, name="sweep-save"),
]
