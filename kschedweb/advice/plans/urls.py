from django.urls import path

from kschedweb.advice.plans import views

urlpatterns = [
    path("plans/", views.plan_moves, name="plans"),
    path("plans/<uuid:question_id>/", views.show_plan, name="plans-answer"),
    path("plans/<uuid:question_id>/try/", views.try_plan, name="plans-try"),
]
