from django.apps import AppConfig

from kschedweb.web import navigation, searching
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class DecisionsConfig(AppConfig):
    name = "kschedweb.decisions"

    def ready(self) -> None:
        """Register the panel of score curves with the policy editor, and the pages with the navigation."""
        from kschedweb.clusters.signals import snapshot_stored
        from kschedweb.decisions import rest_answers
        from kschedweb.decisions.devices import answers as devices
        from kschedweb.decisions.editing.curves import build_panels as curves
        from kschedweb.decisions.groups import answers as groups_asking
        from kschedweb.decisions.groups.searches import search_groups
        from kschedweb.decisions.inquiring import decision_questions
        from kschedweb.decisions.inquiring.handlers import QuestionHandler
        from kschedweb.decisions.inquiring.handlers import register_handler as answered
        from kschedweb.decisions.load_aware import answers as load_aware
        from kschedweb.decisions.models import QuestionKind
        from kschedweb.decisions.nodes import services as nodes
        from kschedweb.decisions.pending.services import work_out_later
        from kschedweb.policies.editing import panels

        snapshot_stored.connect(work_out_later, dispatch_uid="work out pending pods")
        panels.register_drawing(curves)
        pinned = ("decision", "decision-nodes", "decisions-together", "pod-groups", "pod-group")
        navigation.declare_choices((BarChoice.POLICY, BarChoice.SNAPSHOT), *pinned)
        navigation.declare_choices(
            (BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), "load-aware", "load-aware-pods"
        )
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), "node", "node-place")
        answered(
            QuestionKind.DECISION,
            QuestionHandler(decision_questions.decision_answer, current_status=rest_answers.pod_status_to_json),
        )
        answered(QuestionKind.EFFECT, QuestionHandler(decision_questions.effect_answer))
        answered(
            QuestionKind.GROUP,
            QuestionHandler(groups_asking.group_answer, current_status=groups_asking.describe_responsible),
        )
        answered(QuestionKind.GROUPS, QuestionHandler(groups_asking.groups_answer))
        answered(QuestionKind.DEVICES, QuestionHandler(devices.devices_answer))
        answered(QuestionKind.NODE, QuestionHandler(nodes.report_answer))
        answered(QuestionKind.LOAD_AWARE, QuestionHandler(load_aware.contest_answer))
        searching.register_group(_("Groups of pods"), 45, search_groups)
