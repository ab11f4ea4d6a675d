from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from kschedweb.clusters.signals import demo_loaded


class WatermarksConfig(AppConfig):
    name = "kschedweb.watermarks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        demo_loaded.connect(record_demo, dispatch_uid="record the demo's use")


def record_demo(*, cluster: Any, objects: Any, **_: Any) -> None:
    """The demo comes with a day of recorded use."""
    from kschedweb.watermarks.demo import demo_record

    demo_record(cluster=cluster, objects=objects)
