from django.urls import path

from kschedweb.watermarks import views

urlpatterns = [
    path("clusters/<slug:name>/figures/", views.source, name="watermark-source"),
    path("clusters/<slug:name>/figures/change/", views.change, name="watermark-source-change"),
    path("clusters/<slug:name>/figures/run/", views.run, name="watermark-source-run"),
]
