from django.urls import path

from kschedweb.advice.rightsizing import views

urlpatterns = [
    path("right-sizing/", views.sizes, name="right-sizing"),
    path("right-sizing/workload/", views.workload, name="right-sizing-workload"),
    path("right-sizing/apply/", views.apply, name="right-sizing-apply"),
    path("right-sizing/export/", views.export_file, name="right-sizing-export"),
]
