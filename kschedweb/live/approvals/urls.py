from django.urls import path

from kschedweb.live.approvals import views

urlpatterns = [
    path("approvals/", views.inbox, name="approvals"),
    path("approvals/decide/", views.decide, name="approvals-decide"),
    path("approvals/news/", views.news, name="approvals-news"),
    path("approvals/badge/", views.badge, name="approvals-badge"),
    path("approvals/history/", views.history, name="approvals-history"),
    path("approvals/<uuid:request_id>/", views.approval, name="approval"),
    path("approvals/<uuid:request_id>/reopen/", views.reopen, name="approval-reopen"),
]
