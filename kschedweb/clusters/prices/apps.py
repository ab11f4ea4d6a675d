from django.apps import AppConfig


class PricesConfig(AppConfig):
    name = "kschedweb.clusters.prices"
    default_auto_field = "django.db.models.BigAutoField"
