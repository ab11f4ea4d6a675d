from django.urls import path

from kschedweb.jobs import views

urlpatterns = [
    path("jobs/", views.list_jobs, name="jobs"),
    path("jobs/<uuid:job_id>/", views.show_job, name="job"),
    path("jobs/<uuid:job_id>/cancel/", views.cancel_job, name="job-cancel"),
]
