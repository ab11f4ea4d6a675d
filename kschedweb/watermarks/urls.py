from django.urls import path

from kschedweb.watermarks import views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    path("usage/source/", views.source_page, name="usage-source"),
    path("usage/source/<slug:cluster>/change/", views.source_change, name="usage-source-change"),
    path("usage/source/<slug:cluster>/run/", views.source_run, name="usage-source-run"),
    moved_route("clusters/<slug:cluster>/figures/", "usage-source", "cluster"),
    moved_route("clusters/<slug:cluster>/figures/change/", "usage-source-change"),
    moved_route("clusters/<slug:cluster>/figures/run/", "usage-source-run"),
]
