from django.urls import path

from kschedweb.playground.capacity import views

urlpatterns = [
    path("capacity/", views.show_fit, name="capacity-fit"),
    path("capacity/nodes/", views.show_nodes, name="capacity-nodes"),
    path("capacity/drain/", views.show_drain, name="capacity-drain"),
    path("capacity/gangs/", views.show_gangs, name="capacity-gangs"),
    path("capacity/buffer/", views.show_buffer, name="capacity-buffer"),
    path("trying/nodes/", views.show_change, name="capacity-change"),
    path("capacity/names/<str:kind>/", views.suggest_names, name="capacity-names"),
    path("capacity/answers/<uuid:question_id>/", views.show_answer, name="capacity-answer"),
]
