"""The Celery application: every background task runs through it."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

app = Celery("kschedweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
