from django.urls import path

from kschedweb.advice.moves import views

urlpatterns = [
    path("descheduling/", views.moves, name="descheduling"),
    path("descheduling/try/", views.tried, name="descheduling-try"),
    path("descheduling/dry-runs/<uuid:question_id>/", views.answer, name="descheduling-answer"),
    path("descheduling/dry-runs/<uuid:question_id>/try/", views.answer_tried, name="descheduling-answer-try"),
]
