from django.apps import AppConfig

from kschedweb.web import navigation, retention
from kschedweb.web.navigation import Entry

PAGES = ("new", "scheduler", "change", "mode", "rollout", "delete", "setup", "decision", "pod")


class SchedulingConfig(AppConfig):
    name = "kschedweb.live.schedulers"
    label = "scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.live.schedulers.decisions.retention import decisions_clean

        pages = frozenset(f"live-{page}" for page in PAGES)
        navigation.register(navigation.MAIN, Entry("Live", "radio", "live", 90, pages))
        retention.register_cleaning("scheduling.LiveDecision", decisions_clean)
