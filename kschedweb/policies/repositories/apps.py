from django.apps import AppConfig

from kschedweb.web import doctor


class RepositoriesConfig(AppConfig):
    name = "kschedweb.policies.repositories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.policies.repositories.doctor_checks import repositories_examine

        doctor.register_examination("repositories", repositories_examine)
