from django.apps import AppConfig

from kschedweb.web import navigation, searching
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class DecisionsConfig(AppConfig):
    name = "kschedweb.decisions"

    def ready(self) -> None:
        """Register the panel of score curves with the policy editor, and the pages with the navigation."""
        from kschedweb.clusters.signals import snapshot_stored
        from kschedweb.decisions import told
        from kschedweb.decisions.devices import asking as devices
        from kschedweb.decisions.editing.curves import panels as curves
        from kschedweb.decisions.groups import asking as groups_asking
        from kschedweb.decisions.groups.searches import groups
        from kschedweb.decisions.inquiring import deciding
        from kschedweb.decisions.inquiring.answering import Answering
        from kschedweb.decisions.inquiring.answering import register as answered
        from kschedweb.decisions.load_aware import asking as load_aware
        from kschedweb.decisions.models import Kind
        from kschedweb.decisions.pending.services import work_out_later
        from kschedweb.jobs.retention import ANSWERED
        from kschedweb.policies.editing import panels

        snapshot_stored.connect(work_out_later, dispatch_uid="work out pending pods")
        panels.register(curves)
        navigation.belong("pods", "decision", "decision-answer", "decisions-together", "pod-groups", "pod-group")
        pinned = ("decision", "decision-nodes", "decisions-together", "pod-groups", "pod-group")
        navigation.choosing((Choice.POLICY, Choice.SNAPSHOT), *pinned)
        navigation.register(Group.POLICIES, Entry(_("Load-aware scores"), "chart-line", "load-aware", 20))
        navigation.choosing((Choice.CLUSTER, Choice.POLICY, Choice.SNAPSHOT), "load-aware", "load-aware-pods")
        rules = Entry(_("Predicates and priorities"), "", "classic", 20, frozenset({"classic-entry"}))
        navigation.register_tabs("migration", rules)
        register(RetentionRule("decisions.Question", "created_at", "answers", ANSWERED))
        answered(Kind.DECISION, Answering(deciding.decision_answer, standing=told.pod_standing))
        answered(Kind.EFFECT, Answering(deciding.effect_answer))
        answered(Kind.GROUP, Answering(groups_asking.group_answer, standing=groups_asking.standing))
        answered(Kind.GROUPS, Answering(groups_asking.groups_answer))
        answered(Kind.DEVICES, Answering(devices.devices_answer))
        answered(Kind.LOAD_AWARE, Answering(load_aware.contest_answer))
        searching.register(_("Groups of pods"), 45, groups)
