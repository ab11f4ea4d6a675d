from django.apps import AppConfig

from kschedweb.web import retention


class FlightConfig(AppConfig):
    name = "kschedweb.clusters.flight"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.clusters.flight.services import ring_end

        retention.register_cleaning("flight.Segment", ring_end)
