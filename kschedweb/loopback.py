"""A site about one cluster that its person has read, on this machine alone, for as long as the process runs.

``kschedweb open`` starts it in a folder of its own, which goes with it. Whoever has its address, with the key in it, is
signed in as a viewer: nothing can be changed there, and the site connects to nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import sys
import threading
import webbrowser
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.core.management import call_command

from kschedweb import firstdata, runner, server
from kschedweb.build import data_folder
from kschedweb.web import env, variables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kschedweb.accounts.models import User

HOST, ADDRESS = "127.0.0.1", "/open/"
USERNAME = "viewer"
# Bytes of a dump.
LARGEST = 1 << 30


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("name")
    parser.add_argument("--version", default="")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    # The clusters of a site that is deployed here are none of its business: it would delete them.
    for setting in (variables.DATABASE_URL, variables.REDIS_URL):
        os.environ.pop(setting.name, None)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    os.environ.setdefault(variables.LOG_LEVEL.name, "WARNING")
    with env.one_line_errors(), contextlib.suppress(KeyboardInterrupt):
        listener = server.open_listener(HOST, options.port)
        folder = data_folder(variables.DATA_DIR.read())
        with runner.explain_failures(folder):
            runner.claim_folder(folder)
            runner.make_secrets(folder)
            user = prepare_site(Path(options.dump), options.name, options.version)
        key = secrets.token_urlsafe(32)
        web = server.make_server(patience=1)
        web.config.app = sign_in_by_key(key, user)
        runner.start_worker()
        address = f"http://{HOST}:{listener.getsockname()[1]}{ADDRESS}{key}"
        announce(web, address, opens_browser=not options.no_browser)
        web.run(sockets=[listener])
    # Work of its threads is of no use to anybody once the site is gone.
    sys.stdout.flush()
    os._exit(0)


def prepare_site(dump: Path, name: str, version: str) -> User:
    """Make the database with the dump as its only cluster; return the person who reads it."""
    import django
    from django.db import connection

    django.setup()
    from kschedweb.accounts.models import User
    from kschedweb.accounts.roles import Role
    from kschedweb.clusters.models import Cluster
    from kschedweb.clusters.services import cluster_delete, cluster_import
    from kschedweb.web.errors import Conflict

    firstdata.copy_first_data(Path(connection.settings_dict["NAME"]))
    call_command("migrate", verbosity=0, interactive=False)
    for cluster in Cluster.objects.all():
        # Ready scenarios that begin with the demo keep it.
        with contextlib.suppress(Conflict):
            cluster_delete(user=None, cluster=cluster)
    with dump.open("rb") as file:
        cluster_import(user=None, name=name, files=[(dump.name, file)], limit=LARGEST, version=version)
    user = User(username=USERNAME, role=Role.VIEWER)
    user.set_unusable_password()
    user.save()
    return user


def sign_in_by_key(key: str, user: User) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Return the site's application, which signs in whoever asks for the address with ``key``."""
    application = import_module("kschedweb.asgi").application
    path = f"{ADDRESS}{key}"

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not secrets.compare_digest(scope["path"].encode(), path.encode()):
            await application(scope, receive, send)
            return
        cookie = f"sessionid={await sync_to_async(create_session)(user)}; Path=/; HttpOnly; SameSite=Lax"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"referrer-policy", b"no-referrer")]
        await send({"type": "http.response.start", "status": int(HTTPStatus.SEE_OTHER), "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return answer


def create_session(user: User) -> str:
    """Return the key of a new session of ``user``."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from kschedweb.accounts.sessions import LAST_SEEN_KEY, LOGIN_TIME_KEY

    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[LOGIN_TIME_KEY] = session[LAST_SEEN_KEY] = int(time())
    session.save()
    return str(session.session_key)


def announce(web: Any, address: str, *, opens_browser: bool) -> None:
    """Print the address once pages are answered, and open it."""

    def wait() -> None:
        while not (web.started or web.should_exit):
            threading.Event().wait(0.05)
        if web.started:
            runner.print_step(f"Your cluster, to read: {address} (Ctrl-C ends it)")
            if opens_browser:
                webbrowser.open(address)

    threading.Thread(target=wait, name="announce", daemon=True).start()


if __name__ == "__main__":
    main()
