from django.urls import path

from kschedweb.playground.capacity import views

urlpatterns = [
    path("capacity/", views.fit, name="capacity-fit"),
    path("capacity/nodes/", views.nodes, name="capacity-nodes"),
    path("capacity/drain/", views.drain, name="capacity-drain"),
    path("capacity/gangs/", views.gangs, name="capacity-gangs"),
    path("capacity/buffer/", views.buffer, name="capacity-buffer"),
    path("capacity/answers/<uuid:question_id>/", views.answer, name="capacity-answer"),
]
