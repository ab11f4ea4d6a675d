from django.urls import path

from kschedweb.live.approvals import views

urlpatterns = [
    path("approvals/", views.show_inbox, name="approvals"),
    path("approvals/decide/", views.decide_requests, name="approvals-decide"),
    path("approvals/undo/", views.undo_decisions, name="approvals-undo"),
    path("approvals/news/", views.show_news, name="approvals-news"),
    path("approvals/badge/", views.show_badge, name="approvals-badge"),
    path("approvals/history/", views.show_history, name="approvals-history"),
    path("approvals/<uuid:request_id>/", views.show_approval, name="approval"),
    path("approvals/<uuid:request_id>/reopen/", views.reopen_request, name="approval-reopen"),
]
