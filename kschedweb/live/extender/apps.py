from django.apps import AppConfig


class ExtenderConfig(AppConfig):
    name = "kschedweb.live.extender"
    default_auto_field = "django.db.models.BigAutoField"
