from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


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
            RetentionRule("accounts.AuditEntry", "at", "audit"),
            RetentionRule("sessions.Session", "expire_date"),
            RetentionRule("axes.AccessLog", "attempt_time", "logins", by_key=True),
            RetentionRule("axes.AccessAttempt", "attempt_time", "logins", by_key=True),
            RetentionRule("axes.AccessFailureLog", "attempt_time", "logins", by_key=True),
        )
