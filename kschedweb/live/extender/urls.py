from django.urls import path

from kschedweb.live.extender import views

urlpatterns = [
    path("live/<uuid:live_id>/extender/", views.extender, name="live-extender"),
    path("live/<uuid:live_id>/extender/secret/", views.secret, name="live-extender-secret"),
]
