from django.urls import path

from kschedweb.watermarks import views
from kschedweb.web.moved import moved

urlpatterns = [
    path("usage/source/", views.source, name="usage-source"),
    path("usage/source/<slug:cluster>/change/", views.change, name="usage-source-change"),
    path("usage/source/<slug:cluster>/run/", views.run, name="usage-source-run"),
    moved("clusters/<slug:cluster>/figures/", "usage-source", "cluster"),
    moved("clusters/<slug:cluster>/figures/change/", "usage-source-change"),
    moved("clusters/<slug:cluster>/figures/run/", "usage-source-run"),
]
