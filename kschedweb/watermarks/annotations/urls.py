from django.urls import path

from kschedweb.watermarks.annotations import views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    path("usage/annotations/", views.annotations_page, name="usage-annotations"),
    path("usage/annotations/<slug:cluster>/change/", views.annotations_change, name="usage-annotations-change"),
    path("usage/annotations/<slug:cluster>/write/", views.annotations_write, name="usage-annotations-write"),
    moved_route("clusters/<slug:cluster>/annotations/", "usage-annotations", "cluster"),
    moved_route("clusters/<slug:cluster>/annotations/write/", "usage-annotations-write"),
]
