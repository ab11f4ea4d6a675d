from django.apps import AppConfig

from kschedweb.web import navigation, retention
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.translating import gettext_lazy as _


class ShadowConfig(AppConfig):
    name = "kschedweb.live.shadow"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.live.schedulers.models import Mode
        from kschedweb.live.schedulers.running.runs import register_factory
        from kschedweb.live.shadow.run import make_run
        from kschedweb.live.shadow.services import verdicts_clean

        register_factory(Mode.SHADOW, make_run)
        navigation.register_entries(
            RailGroup.PRODUCTION, Entry(_("Shadow"), "eye", "shadows", 30, frozenset({"live-shadow"}))
        )
        retention.register_cleaning("shadow.ShadowVerdict", verdicts_clean)
