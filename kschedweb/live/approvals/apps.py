from __future__ import annotations

from django.apps import AppConfig
from django.db.models import Q

from kschedweb.web.retention import RetentionRule, register_rules


class ApprovalsConfig(AppConfig):
    name = "kschedweb.live.approvals"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.decisions import responsibility
        from kschedweb.live.approvals import selectors
        from kschedweb.live.approvals.gate import ApprovalGate
        from kschedweb.live.approvals.models import Delivered
        from kschedweb.live.schedulers.running import gates

        gates.register_gate(ApprovalGate())
        responsibility.register_waits(selectors.approval_waits)
        register_rules(
            RetentionRule("approvals.ApprovalRequest", "ended_at", "approvals"),
            RetentionRule("approvals.Delivery", "created_at", "deliveries", ~Q(state=Delivered.PENDING)),
        )
