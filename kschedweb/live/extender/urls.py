from django.urls import path

from kschedweb.live.extender import views

urlpatterns = [
    path("extenders/", views.everything, name="extenders"),
    path("live/<uuid:live_id>/extender/", views.extender, name="live-extender"),
    path("live/<uuid:live_id>/extender/secret/", views.secret, name="live-extender-secret"),
]
