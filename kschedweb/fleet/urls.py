from django.urls import path

from kschedweb.fleet import views
from kschedweb.web.redirects import open_node

urlpatterns = [
    path("fleet/", views.show_fleet, name="fleet"),
    path("fleet/node/", open_node, name="fleet-node"),
    path("fleet/search/", views.search_clusters, name="fleet-search"),
    path("fleet/trials/", views.list_trials, name="fleet-trials"),
    path("fleet/trials/<uuid:trial_id>/", views.show_trial, name="fleet-trial"),
]
