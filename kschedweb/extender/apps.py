from django.apps import AppConfig


class ExtenderConfig(AppConfig):
    name = "kschedweb.extender"
    default_auto_field = "django.db.models.BigAutoField"
