from django.apps import AppConfig

from kschedweb.web import actions, doctor, navigation, retention
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.translating import gettext_lazy as _

PAGES = ("new", "scheduler", "change", "mode", "rollout", "delete", "setup", "decision", "pod")


class SchedulingConfig(AppConfig):
    name = "kschedweb.live.schedulers"
    label = "scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.decisions import responsibility
        from kschedweb.decisions.inquiring import answering
        from kschedweb.decisions.models import Kind
        from kschedweb.live.schedulers import rollout_asking, selectors
        from kschedweb.live.schedulers.decisions.retention import decisions_clean
        from kschedweb.live.schedulers.examining import schedulers_examine

        pages = frozenset(f"live-{page}" for page in PAGES)
        navigation.register(Group.PRODUCTION, Entry(_("Schedulers"), "radio", "live", 10, pages))
        navigation.belong("pods", "pod-history")
        navigation.choosing((Choice.POLICY, Choice.MOMENT), "pod-history")
        actions.register(
            PaletteAction(_("New live scheduler"), "radio", "live-new", "production run", action="administer"),
        )
        responsibility.register_live(selectors.live_profiles)
        doctor.register("schedulers", schedulers_examine)
        answering.register(Kind.ROLL_OUT, answering.Answering(rollout_asking.moves_answer, rollout_asking.readable))
        retention.register_cleaning("scheduling.LiveDecision", decisions_clean)
