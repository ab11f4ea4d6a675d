from django.apps import AppConfig


class SandboxConfig(AppConfig):
    name = "kschedweb.sandbox"
    label = "sandbox"
