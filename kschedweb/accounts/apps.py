from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, doctor, heavy
from kschedweb.web.actions import PaletteAction
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from allauth.socialaccount.providers import registry

        from kschedweb.accounts import addresses, sessions  # noqa: F401  their receivers
        from kschedweb.accounts.authentication import person_of_session, person_of_token
        from kschedweb.accounts.doctor_checks import sign_in_examine
        from kschedweb.accounts.factors import required  # noqa: F401
        from kschedweb.accounts.signin import provider_sessions  # noqa: F401
        from kschedweb.accounts.signin.openid import IdentityProvider

        registry.register(IdentityProvider)
        heavy.PEOPLE += [person_of_token, person_of_session]
        doctor.register_examination("sign-in", sign_in_examine)

        actions.register_actions(
            PaletteAction(_("Create a token"), "key-round", "tokens", "api rest key"),
            PaletteAction(_("Your saved views of lists"), "bookmark", "views", "filter columns"),
            PaletteAction(_("Set time zone and density"), "settings", "settings", "display utc compact"),
        )
        register_rules(
            RetentionRule("accounts.AuditEntry", "at", "audit"),
            RetentionRule("sessions.Session", "expire_date"),
            RetentionRule("accounts.ProviderSession", "expires_at"),
            RetentionRule("axes.AccessLog", "attempt_time", "logins", by_key=True),
            RetentionRule("axes.AccessAttempt", "attempt_time", "logins", by_key=True),
            RetentionRule("axes.AccessFailureLog", "attempt_time", "logins", by_key=True),
        )
