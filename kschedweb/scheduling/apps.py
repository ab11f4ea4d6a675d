from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "kschedweb.scheduling"
    default_auto_field = "django.db.models.BigAutoField"
