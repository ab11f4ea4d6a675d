from django.apps import AppConfig


class GateConfig(AppConfig):
    name = "kschedweb.gate"
