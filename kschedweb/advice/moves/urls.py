from django.urls import path

from kschedweb.advice.moves import views

urlpatterns = [
    path("descheduling/", views.show_moves, name="descheduling"),
    path("descheduling/try/", views.try_moves, name="descheduling-try"),
    path("descheduling/dry-runs/<uuid:question_id>/", views.show_answer, name="descheduling-answer"),
    path("descheduling/dry-runs/<uuid:question_id>/try/", views.try_answered_moves, name="descheduling-answer-try"),
]
