from django.urls import path

from kschedweb.sandbox import views

urlpatterns = [
    path("sandbox/", views.show_sandbox, name="sandbox"),
    path("sandbox/news/", views.show_news, name="sandbox-news"),
    path("sandbox/objects/<str:kind>/<str:namespace>/<str:name>/", views.show_object, name="sandbox-object"),
    path("sandbox/create/", views.create_objects, name="sandbox-create"),
    path("sandbox/anew/", views.reset_sandbox, name="sandbox-anew"),
    path("sandbox/pace/", views.set_pace, name="sandbox-pace"),
    path("sandbox/delete/", views.delete_object, name="sandbox-delete"),
]
