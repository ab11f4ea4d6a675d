from django.urls import path

from kschedweb.live.shadow import views

urlpatterns = [
    path("live/<uuid:live_id>/shadow/", views.shadow, name="live-shadow"),
]
