from django.urls import path

from kschedweb.advice.autoscaling import views

urlpatterns = [
    path("autoscaling/", views.autoscaling, name="autoscaling"),
    path("autoscaling/<uuid:question_id>/", views.answer, name="autoscaling-answer"),
]
