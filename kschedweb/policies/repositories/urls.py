from django.urls import path

from kschedweb.policies.repositories import views

urlpatterns = [
    path("policies/repositories/", views.repositories, name="repositories"),
    path("policies/repositories/<slug:name>/", views.repository, name="repository"),
    path("policies/repositories/<slug:name>/look/", views.look, name="repository-look"),
    path("policies/repositories/<slug:name>/delete/", views.delete, name="repository-delete"),
]
