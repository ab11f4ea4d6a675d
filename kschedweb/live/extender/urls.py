from django.urls import path

from kschedweb.live.extender import views

urlpatterns = [
    path("extenders/", views.list_extenders, name="extenders"),
    path("live/<uuid:live_id>/extender/", views.show_extender, name="live-extender"),
    path("live/<uuid:live_id>/extender/secret/", views.create_secret, name="live-extender-secret"),
]
