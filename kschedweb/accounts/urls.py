from django.urls import path

from kschedweb.accounts import views
from kschedweb.accounts.factors import views as factors
from kschedweb.accounts.signin import views as signin

urlpatterns = [
    path("login/", views.login, name="login"),
    # allauth needs this name, and the names with an underscore below.
    path("login/", views.login, name="account_login"),
    path("login/factor/", factors.authenticate, name="mfa_authenticate"),
    path("login/forgotten/", views.password_forgotten, name="password-forgotten"),
    path("login/forgotten/sent/", views.password_mailed, name="password-mailed"),
    path("login/forgotten/<uidb64>/<token>/", views.password_renew, name="password-renew"),
    path("login/at/<str:provider_id>/", signin.begin_signin, name="provider-begin"),
    path("login/at/<str:provider_id>/callback/", signin.provider_callback, name="provider-callback"),
    path("login/at/<str:provider_id>/ended/", signin.backchannel_logout, name="provider-backchannel"),
    path("logout/", views.logout, name="logout"),
    path("factors/", factors.index, name="mfa_index"),
    path("factors/password/", factors.reauthenticate, name="account_reauthenticate"),
    path("factors/app/", factors.activate_totp, name="mfa_activate_totp"),
    path("factors/app/remove/", factors.deactivate_totp, name="mfa_deactivate_totp"),
    path("factors/codes/", factors.recovery_codes, name="mfa_view_recovery_codes"),
    path("factors/codes/new/", factors.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("factors/passkeys/new/", factors.add_passkey, name="mfa_add_webauthn"),
    path("factors/passkeys/<int:pk>/remove/", factors.remove_passkey, name="mfa_remove_webauthn"),
    path("password/", views.change_password, name="password"),
    path("settings/", views.show_settings, name="settings"),
    path("settings/sessions/end/", views.sessions_end, name="sessions-end"),
    path("tokens/", views.list_tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", views.token_revoke, name="token-revoke"),
    path("people/", views.list_people, name="people"),
    path("people/<str:username>/role/", views.person_role, name="person-role"),
    path("people/<str:username>/active/", views.person_active, name="person-active"),
    path("people/<str:username>/tokens/", views.person_tokens, name="person-tokens"),
    path("people/<str:username>/tokens/<int:token_id>/revoke/", views.person_token_revoke, name="person-token-revoke"),
    path("people/<str:username>/factors/remove/", views.person_factors_remove, name="person-factors-remove"),
    path("people/<str:username>/password/", views.person_password, name="person-password"),
    path("grants/", views.list_grants, name="grants"),
    path("grants/<uuid:grant_id>/take/", views.grant_take, name="grant-take"),
    path("audit/", views.show_audit, name="audit"),
]
