from django.apps import AppConfig

from kschedweb.web import doctor


class RepositoriesConfig(AppConfig):
    name = "kschedweb.policies.repositories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.policies.repositories.examining import repositories_examine

        doctor.register("repositories", repositories_examine)
