from django.apps import AppConfig

from kschedweb.web import navigation


class ExtenderConfig(AppConfig):
    name = "kschedweb.live.extender"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        navigation.belong("live", "live-extender", "live-extender-secret")
