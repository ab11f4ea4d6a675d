"""The Celery application: every background task runs through it."""

import os

from celery import Celery
from django.conf import settings

from kschedweb import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

app = Celery("kschedweb")
with env.one_line_errors():
    _ = settings.DEBUG  # Reads the settings now: Celery would show a traceback later.
    app.config_from_object(settings, namespace="CELERY")
    app.autodiscover_tasks()
    app.autodiscover_tasks(["kschedweb.watermarks.annotations", "kschedweb.approvals.webhooks"])
    app.autodiscover_tasks(["kschedweb"], related_name="retention")

# A task's log lines carry the id of the request that asked for it. (Imported late: it reads the settings.)
from django_structlog.celery.steps import DjangoStructLogInitStep  # noqa: E402

app.steps["worker"].add(DjangoStructLogInitStep)
# Workers of the queue `scheduler` host live schedulers. (Named, not imported: its models need Django to be ready.)
app.steps["worker"].add("kschedweb.scheduling.host:HostStep")
