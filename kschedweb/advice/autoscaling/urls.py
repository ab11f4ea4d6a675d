from django.urls import path

from kschedweb.advice.autoscaling import change_views, groups_views, views

urlpatterns = [
    path("autoscaling/", views.show_autoscaling, name="autoscaling"),
    path("autoscaling/groups/", groups_views.ask_node_groups, name="autoscaling-groups"),
    path("autoscaling/change/", change_views.change_nodepools, name="autoscaling-change"),
    path("autoscaling/change/preview/", change_views.preview_nodepools, name="autoscaling-change-preview"),
    path("autoscaling/<uuid:question_id>/", views.show_answer, name="autoscaling-answer"),
]
