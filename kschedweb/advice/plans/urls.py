from django.urls import path

from kschedweb.advice.plans import views

urlpatterns = [
    path("plans/", views.plans, name="plans"),
    path("plans/<uuid:question_id>/", views.answer, name="plans-answer"),
    path("plans/<uuid:question_id>/try/", views.tried, name="plans-try"),
]
