from django.urls import path

from kschedweb.playground.recordings import views

urlpatterns = [
    path("recordings/", views.recordings, name="recordings"),
    path("recordings/of/<slug:name>/moment/", views.moment, name="recording-moment"),
    path("recordings/of/<slug:name>/range/", views.cut, name="recording-range"),
    path("recordings/<uuid:recording_id>/", views.recording, name="recording"),
    path("recordings/<uuid:recording_id>/download/", views.download, name="recording-download"),
    path("recordings/<uuid:recording_id>/scenario/", views.scenario, name="recording-scenario"),
    path("recordings/<uuid:recording_id>/file/", views.file, name="recording-file"),
    path("recordings/<uuid:recording_id>/delete/", views.delete, name="recording-delete"),
]
