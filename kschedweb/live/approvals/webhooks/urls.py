from django.urls import path

from kschedweb.live.approvals.webhooks import views

urlpatterns = [
    path("approvals/webhooks/", views.endpoints, name="webhooks"),
    path("approvals/webhooks/new/", views.new, name="webhook-new"),
    path("approvals/webhooks/<uuid:endpoint_id>/", views.endpoint, name="webhook"),
    path("approvals/webhooks/<uuid:endpoint_id>/test/", views.test, name="webhook-test"),
    path("approvals/webhooks/<uuid:endpoint_id>/renew/", views.renew, name="webhook-renew"),
    path("approvals/webhooks/<uuid:endpoint_id>/delete/", views.delete, name="webhook-delete"),
]
