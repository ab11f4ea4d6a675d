from django.urls import path

from kschedweb.playground.recordings import views

urlpatterns = [
    path("recordings/", views.show_recordings, name="recordings"),
    path("recordings/of/<slug:name>/moment/", views.make_moment_scenario, name="recording-moment"),
    path("recordings/of/<slug:name>/range/", views.cut_recording, name="recording-range"),
    path("recordings/<uuid:recording_id>/", views.show_recording, name="recording"),
    path("recordings/<uuid:recording_id>/download/", views.download_recording, name="recording-download"),
    path("recordings/<uuid:recording_id>/scenario/", views.make_scenario, name="recording-scenario"),
    path("recordings/<uuid:recording_id>/file/", views.give_file, name="recording-file"),
    path("recordings/<uuid:recording_id>/delete/", views.delete_recording, name="recording-delete"),
]
