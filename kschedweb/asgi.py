"""The ASGI application that the web process serves."""

import os

import django

from kschedweb.web import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

with env.one_line_errors():
    django.setup(set_prefix=False)

# Imported late: it needs Django to be ready.
from kschedweb.web import garbage
from kschedweb.web.handler import Handler

application = Handler()
garbage.look_seldom()
