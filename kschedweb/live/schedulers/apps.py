from django.apps import AppConfig

from kschedweb.web import actions, doctor, navigation, retention
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class SchedulingConfig(AppConfig):
    name = "kschedweb.live.schedulers"
    label = "scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.decisions import responsibility
        from kschedweb.decisions.inquiring import handlers
        from kschedweb.decisions.models import QuestionKind
        from kschedweb.live.schedulers import rollout_moves, selectors
        from kschedweb.live.schedulers.decisions.retention import decisions_clean
        from kschedweb.live.schedulers.doctor_checks import schedulers_examine

        navigation.declare_choices((BarChoice.POLICY, BarChoice.MOMENT), "pod-history")
        actions.register_actions(
            PaletteAction(_("New live scheduler"), "radio", "live-new", "production run", action="administer"),
        )
        responsibility.register_live(selectors.live_profiles)
        doctor.register_examination("schedulers", schedulers_examine)
        handlers.register_handler(
            QuestionKind.ROLL_OUT, handlers.QuestionHandler(rollout_moves.moves_answer, rollout_moves.check_readable)
        )
        retention.register_cleaning("scheduling.LiveDecision", decisions_clean)
