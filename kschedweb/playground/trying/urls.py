"""The pages of tried changes."""

from __future__ import annotations

from django.urls import path

from kschedweb.playground.trying import views

urlpatterns = [
    path("trying/", views.show_trying, name="trying"),
    path("trying/effect/", views.show_effect, name="trying-effect"),
    path("policies/<slug:name>/weights/", views.show_weights, name="policy-weights"),
    path("trying/preview/<slug:name>/", views.preview_change, name="trying-preview"),
    path("trying/<uuid:tried_id>/", views.show_tried, name="tried"),
]
