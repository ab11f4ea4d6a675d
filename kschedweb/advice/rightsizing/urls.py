from django.urls import path

from kschedweb.advice.rightsizing import views

urlpatterns = [
    path("right-sizing/", views.list_sizes, name="right-sizing"),
    path("right-sizing/workload/", views.show_workload, name="right-sizing-workload"),
    path("right-sizing/apply/", views.preview_changes, name="right-sizing-apply"),
    path("right-sizing/export/", views.export_file, name="right-sizing-export"),
]
