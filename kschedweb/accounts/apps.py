from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import Rule, register


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.accounts import addresses, sessions  # noqa: F401  their receivers
        from kschedweb.accounts.roles import Action

        navigation.register(
            navigation.ACCOUNT,
            Entry("Settings", "settings", "settings", 10),
            Entry("Tokens", "key-round", "tokens", 20),
            Entry("People", "users", "people", 30, action=Action.ADMINISTER),
            Entry("Audit", "scroll-text", "audit", 40, action=Action.ADMINISTER),
        )
        register(
            Rule("accounts.AuditEntry", "at", "audit"),
            Rule("sessions.Session", "expire_date"),
            Rule("axes.AccessLog", "attempt_time", "logins", by_key=True),
            Rule("axes.AccessAttempt", "attempt_time", "logins", by_key=True),
            Rule("axes.AccessFailureLog", "attempt_time", "logins", by_key=True),
        )
