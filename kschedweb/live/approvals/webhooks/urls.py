from django.urls import path

from kschedweb.live.approvals.webhooks import views

urlpatterns = [
    path("approvals/webhooks/", views.list_endpoints, name="webhooks"),
    path("approvals/webhooks/new/", views.create_endpoint, name="webhook-new"),
    path("approvals/webhooks/<uuid:endpoint_id>/", views.show_endpoint, name="webhook"),
    path("approvals/webhooks/<uuid:endpoint_id>/test/", views.send_test, name="webhook-test"),
    path("approvals/webhooks/<uuid:endpoint_id>/renew/", views.renew_secret, name="webhook-renew"),
    path("approvals/webhooks/<uuid:endpoint_id>/delete/", views.delete_endpoint, name="webhook-delete"),
]
