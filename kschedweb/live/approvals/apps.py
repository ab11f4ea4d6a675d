from __future__ import annotations

from django.apps import AppConfig
from django.db.models import Q

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _

PAGES = frozenset({"approval", "approvals-history", "webhooks", "webhook-new", "webhook", "webhook-delete"})


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
        navigation.register_entries(RailGroup.PRODUCTION, Entry(_("Approvals"), "user-check", "approvals", 20, PAGES))
        register_rules(
            RetentionRule("approvals.ApprovalRequest", "ended_at", "approvals"),
            RetentionRule("approvals.Delivery", "created_at", "deliveries", ~Q(state=Delivered.PENDING)),
        )
