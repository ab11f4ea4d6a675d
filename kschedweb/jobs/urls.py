from django.urls import path

from kschedweb.jobs import views

urlpatterns = [
    path("jobs/", views.jobs, name="jobs"),
    path("jobs/<uuid:job_id>/", views.job, name="job"),
    path("jobs/<uuid:job_id>/cancel/", views.cancel, name="job-cancel"),
]
