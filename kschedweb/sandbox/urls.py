from django.urls import path

from kschedweb.sandbox import views

urlpatterns = [
    path("sandbox/", views.sandbox, name="sandbox"),
    path("sandbox/news/", views.news, name="sandbox-news"),
    path("sandbox/objects/<str:kind>/<str:namespace>/<str:name>/", views.details, name="sandbox-object"),
    path("sandbox/create/", views.create, name="sandbox-create"),
    path("sandbox/anew/", views.anew, name="sandbox-anew"),
    path("sandbox/pace/", views.pace, name="sandbox-pace"),
    path("sandbox/delete/", views.delete, name="sandbox-delete"),
]
