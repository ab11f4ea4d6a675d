from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kschedweb.accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.accounts import addresses, sessions  # noqa: F401  their receivers
