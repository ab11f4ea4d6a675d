from django.apps import AppConfig

from kschedweb.web import retention


class ShadowConfig(AppConfig):
    name = "kschedweb.live.shadow"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.live.schedulers.models import Mode
        from kschedweb.live.schedulers.running.runs import register_factory
        from kschedweb.live.shadow.run import make_run
        from kschedweb.live.shadow.services import verdicts_clean

        register_factory(Mode.SHADOW, make_run)
        retention.register_cleaning("shadow.ShadowVerdict", verdicts_clean)
