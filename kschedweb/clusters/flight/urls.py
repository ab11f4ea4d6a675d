from django.urls import path

from kschedweb.clusters.flight import views

urlpatterns = [
    path("clusters/<slug:name>/flight/", views.recorder, name="cluster-flight"),
    path("clusters/<slug:name>/moment/", views.moment, name="cluster-moment"),
]
