from django.urls import path

from kschedweb.fleet import views

urlpatterns = [
    path("fleet/", views.fleet, name="fleet"),
    path("fleet/search/", views.search, name="fleet-search"),
    path("fleet/trials/", views.trials, name="fleet-trials"),
    path("fleet/trials/<uuid:trial_id>/", views.trial, name="fleet-trial"),
]
