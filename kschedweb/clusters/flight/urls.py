from django.urls import path

from kschedweb.clusters.flight import views

urlpatterns = [
    path("clusters/<slug:name>/flight/", views.show_recorder, name="cluster-flight"),
    path("clusters/<slug:name>/moment/", views.choose_moment, name="cluster-moment"),
]
