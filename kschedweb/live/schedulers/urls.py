from django.urls import path

from kschedweb.live.schedulers import views
from kschedweb.live.schedulers.decisions import views as decision_views

urlpatterns = [
    path("live/", views.list_live, name="live"),
    path("live/new/", views.create_live, name="live-new"),
    path("live/pod/<slug:cluster>/<str:namespace>/<str:pod>/", decision_views.show_pod, name="live-pod"),
    path("live/<uuid:live_id>/", views.show_live, name="live-scheduler"),
    path("live/<uuid:live_id>/now/", views.show_now, name="live-now"),
    path("live/<uuid:live_id>/figures/", views.show_figures, name="live-figures"),
    path("live/<uuid:live_id>/change/", views.change_live, name="live-change"),
    path("live/<uuid:live_id>/rollout/", views.roll_out_live, name="live-rollout"),
    path("live/<uuid:live_id>/mode/", views.switch_mode, name="live-mode"),
    path("live/<uuid:live_id>/setup/", views.show_setup, name="live-setup"),
    path("live/<uuid:live_id>/delete/", views.delete_live, name="live-delete"),
    path("live/<uuid:live_id>/command/<slug:command>/", views.run_command, name="live-command"),
    path("live/<uuid:live_id>/decisions/<uuid:decision_id>/", decision_views.show_decision, name="live-decision"),
]
