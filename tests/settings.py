"""The project's own settings with throw-away secrets and folders, so that a test run needs nothing prepared.

Embedded (SQLite, memory broker) unless ``DATABASE_URL`` and ``REDIS_URL`` name real servers.
"""

from __future__ import annotations

import atexit
import base64
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
_folder = tempfile.mkdtemp(prefix="kschedweb-test-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["KSCHEDWEB_DATA_DIR"] = _folder
os.environ["KSCHEDWEB_SECRET_KEY"] = secrets.token_urlsafe(50)
os.environ["KSCHEDWEB_ENCRYPTION_KEYS"] = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
if os.environ.get("REDIS_URL") and _worker.startswith("gw"):
    # Each pytest worker has a Redis database of its own, so that caches and queues do not meet.
    _parts = urlsplit(os.environ["REDIS_URL"])
    os.environ["REDIS_URL"] = _parts._replace(path=f"/{int(_worker[2:]) + 1}").geturl()

from kschedweb.settings import *  # noqa: E402, F403
from kschedweb.settings import DATABASES, STORAGES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
# Each test has clients of its own, and each of those would read the whole folder of static files.
WHITENOISE_AUTOREFRESH = True
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
if DATABASES["default"]["ENGINE"] == "kschedweb.web.sqlite":
    # A file, since a worker thread beside a live server opens a connection of its own.
    DATABASES["default"]["TEST"] = {"NAME": Path(_folder) / "test.sqlite3"}
else:
    # A pool would hold connections that keep the test database from being dropped.
    DATABASES["default"]["OPTIONS"] = {}
# A worker beside tests does jobs itself: another process would not see these settings. Those that tests start do not.
JOB_PROCESSES = False
