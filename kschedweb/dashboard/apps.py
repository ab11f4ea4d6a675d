from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "kschedweb.dashboard"
    default_auto_field = "django.db.models.BigAutoField"
