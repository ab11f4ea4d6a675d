from django.urls import path

from kschedweb.playground.sweeps import views

urlpatterns = [
    path("sweeps/", views.list_sweeps, name="sweeps"),
    path("sweeps/new/", views.new_sweep, name="sweep-new"),
    path("sweeps/<uuid:sweep_id>/", views.show_sweep, name="sweep"),
    path("sweeps/<uuid:sweep_id>/cancel/", views.cancel_sweep, name="sweep-cancel"),
    path("sweeps/<uuid:sweep_id>/resume/", views.resume_sweep, name="sweep-resume"),
    path("sweeps/<uuid:sweep_id>/delete/", views.delete_sweep, name="sweep-delete"),
    path("sweeps/<uuid:sweep_id>/save/", views.save_policy, name="sweep-save"),
]
