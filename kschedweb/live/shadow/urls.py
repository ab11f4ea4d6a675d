from django.urls import path

from kschedweb.live.shadow import views

urlpatterns = [
    path("shadows/", views.everything, name="shadows"),
    path("live/<uuid:live_id>/shadow/", views.shadow, name="live-shadow"),
]
