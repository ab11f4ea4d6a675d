from django.urls import path

from kschedweb.advice.autoscaling import changing, groups_views, views

urlpatterns = [
    path("autoscaling/", views.autoscaling, name="autoscaling"),
    path("autoscaling/groups/", groups_views.groups, name="autoscaling-groups"),
    path("autoscaling/change/", changing.change, name="autoscaling-change"),
    path("autoscaling/change/preview/", changing.preview, name="autoscaling-change-preview"),
    path("autoscaling/<uuid:question_id>/", views.answer, name="autoscaling-answer"),
]
