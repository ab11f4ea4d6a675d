from __future__ import annotations

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "kschedweb.approvals"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.approvals.gate import ApprovalGate
        from kschedweb.scheduling.gates import register

        register(ApprovalGate())
