from django.urls import path

from kschedweb.watermarks.annotations import views

urlpatterns = [
    path("clusters/<slug:name>/annotations/", views.annotations_page, name="annotations"),
    path("clusters/<slug:name>/annotations/write/", views.write, name="annotations-write"),
]
