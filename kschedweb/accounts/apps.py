from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    default_auto_field = "django.db.models.BigAutoField"
