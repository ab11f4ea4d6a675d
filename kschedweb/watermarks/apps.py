from django.apps import AppConfig


class WatermarksConfig(AppConfig):
    name = "kschedweb.watermarks"
    default_auto_field = "django.db.models.BigAutoField"
