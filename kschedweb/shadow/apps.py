from django.apps import AppConfig


class ShadowConfig(AppConfig):
    name = "kschedweb.shadow"
    default_auto_field = "django.db.models.BigAutoField"
