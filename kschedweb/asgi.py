"""The ASGI application that the web process serves."""

import os
import warnings

from django.core.asgi import get_asgi_application

from kschedweb import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

# WhiteNoise reads static files synchronously; they are small, and Django reads them in a thread.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

with env.one_line_errors():
    application = get_asgi_application()
