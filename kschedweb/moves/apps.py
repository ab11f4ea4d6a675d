from django.apps import AppConfig


class MovesConfig(AppConfig):
    name = "kschedweb.moves"
