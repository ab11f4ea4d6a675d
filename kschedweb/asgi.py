"""The ASGI application that the web process serves."""

import os

from django.core.asgi import get_asgi_application

from kschedweb import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

with env.one_line_errors():
    application = get_asgi_application()
