from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry

PLAYGROUND = ("scenario", "run", "comparison", "sweep", "capacity", "gate", "move", "experiment", "recording")


class ScenariosConfig(AppConfig):
    name = "kschedweb.playground.scenarios"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        navigation.register(navigation.MAIN, Entry("Playground", "flask-conical", "scenarios", 70, stems=PLAYGROUND))
        navigation.register(navigation.PLAYGROUND, Entry("Scenarios", "", "scenarios", 10, stems=("scenario",)))
