from django.urls import path

from kschedweb.live.shadow import views

urlpatterns = [
    path("shadows/", views.list_shadows, name="shadows"),
    path("live/<uuid:live_id>/shadow/", views.show_shadow, name="live-shadow"),
]
