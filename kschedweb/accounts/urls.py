from django.urls import path

from kschedweb.accounts import views

urlpatterns = [
    path("login/", views.login, name="login"),
    path("logout/", views.logout, name="logout"),
    path("password/", views.password, name="password"),
    path("settings/", views.settings, name="settings"),
    path("settings/sessions/end/", views.sessions_end, name="sessions-end"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", views.token_revoke, name="token-revoke"),
    path("people/", views.people, name="people"),
    path("people/<str:username>/role/", views.person_role, name="person-role"),
    path("people/<str:username>/active/", views.person_active, name="person-active"),
    path("people/<str:username>/tokens/", views.person_tokens, name="person-tokens"),
    path("people/<str:username>/tokens/<int:token_id>/revoke/", views.person_token_revoke, name="person-token-revoke"),
    path("people/<str:username>/password/", views.person_password, name="person-password"),
    path("audit/", views.audit, name="audit"),
]
