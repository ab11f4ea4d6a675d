from django.urls import path

from kschedweb.live.history import views

urlpatterns = [
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/history/", views.show_history, name="pod-history"),
]
