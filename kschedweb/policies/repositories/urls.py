from django.urls import path

from kschedweb.policies.repositories import views

urlpatterns = [
    path("policies/repositories/", views.repository_list, name="repositories"),
    path("policies/repositories/<slug:name>/", views.repository_detail, name="repository"),
    path("policies/repositories/<slug:name>/look/", views.repository_look, name="repository-look"),
    path("policies/repositories/<slug:name>/delete/", views.repository_delete, name="repository-delete"),
]
