from django.apps import AppConfig


class CapacityConfig(AppConfig):
    name = "kschedweb.capacity"
