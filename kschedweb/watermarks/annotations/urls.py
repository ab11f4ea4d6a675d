from django.urls import path

from kschedweb.watermarks.annotations import views
from kschedweb.web.moved import moved

urlpatterns = [
    path("usage/annotations/", views.annotations_page, name="usage-annotations"),
    path("usage/annotations/<slug:cluster>/change/", views.change, name="usage-annotations-change"),
    path("usage/annotations/<slug:cluster>/write/", views.write, name="usage-annotations-write"),
    moved("clusters/<slug:cluster>/annotations/", "usage-annotations", "cluster"),
    moved("clusters/<slug:cluster>/annotations/write/", "usage-annotations-write"),
]
