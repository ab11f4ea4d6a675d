from django.urls import path

from kschedweb.queues import views

urlpatterns = [
    path("queues/", views.list_queues, name="queues"),
    path("queues/admission/", views.ask_admission, name="queue-admission"),
    path("queues/<slug:cluster>/<str:queue>/", views.show_queue, name="queue"),
    path("queues/<slug:cluster>/pods/<str:namespace>/<str:pod>/", views.show_queue_of_pod, name="queue-of-pod"),
    path("queues/<slug:cluster>/<str:namespace>/<str:workload>/", views.show_workload, name="queue-workload"),
]
