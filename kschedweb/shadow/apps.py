from django.apps import AppConfig


class ShadowConfig(AppConfig):
    name = "kschedweb.shadow"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.scheduling.models import Mode
        from kschedweb.scheduling.runs import register
        from kschedweb.shadow.run import make_run

        register(Mode.SHADOW, make_run)
