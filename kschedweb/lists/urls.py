from django.urls import path

from kschedweb.lists import views

urlpatterns = [
    path("lists/<str:table>/columns/", views.columns_save, name="list-columns"),
    path("lists/<str:table>/views/", views.view_save, name="list-view-save"),
    path("views/", views.views_list, name="views"),
    path("views/<int:view_id>/", views.view_change, name="view-change"),
    path("views/<int:view_id>/delete/", views.view_delete, name="view-delete"),
]
