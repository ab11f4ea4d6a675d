from django.urls import path

from kschedweb.advice.moves import views

urlpatterns = [
    path("descheduling/", views.moves, name="descheduling"),
    path("descheduling/dry-runs/<uuid:question_id>/", views.answer, name="descheduling-answer"),
]
