from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "kschedweb.experiments"
    default_auto_field = "django.db.models.BigAutoField"
