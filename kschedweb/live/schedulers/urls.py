from django.urls import path

from kschedweb.live.schedulers import views
from kschedweb.live.schedulers.decisions import views as decision_views

urlpatterns = [
    path("live/", views.live, name="live"),
    path("live/new/", views.new, name="live-new"),
    path("live/pod/<slug:cluster>/<str:namespace>/<str:pod>/", decision_views.pod, name="live-pod"),
    path("live/<uuid:live_id>/", views.scheduler, name="live-scheduler"),
    path("live/<uuid:live_id>/now/", views.now, name="live-now"),
    path("live/<uuid:live_id>/figures/", views.figures, name="live-figures"),
    path("live/<uuid:live_id>/change/", views.change, name="live-change"),
    path("live/<uuid:live_id>/rollout/", views.rollout, name="live-rollout"),
    path("live/<uuid:live_id>/mode/", views.mode, name="live-mode"),
    path("live/<uuid:live_id>/setup/", views.setup, name="live-setup"),
    path("live/<uuid:live_id>/delete/", views.delete, name="live-delete"),
    path("live/<uuid:live_id>/command/<slug:what>/", views.command, name="live-command"),
    path("live/<uuid:live_id>/decisions/<uuid:decision_id>/", decision_views.decision, name="live-decision"),
]
