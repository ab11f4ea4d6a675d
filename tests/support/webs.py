"""Web processes with docker-compose.yml's own command on a new database, and logins from any address."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import requests
import yaml

from tests.support.processes import free_port, running, wait_until
from tests.support.site import PASSWORD, ROOT, Site, clean_environment

WEB = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["web"]["command"]


@contextmanager
def webs(folder: Path, count: int, **settings: str) -> Iterator[list[Site]]:
    """``count`` web processes with docker-compose.yml's command on one new database, which has an admin."""
    env = clean_environment(
        KSCHEDWEB_DATA_DIR=str(folder),
        KSCHEDWEB_SECRET_KEY="s" * 50,
        KSCHEDWEB_ADMIN_PASSWORD=PASSWORD,
        **settings,
    )
    for command in (["migrate", "--noinput"], ["ensure_admin"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=env, check=True, capture_output=True)
    with ExitStack() as stack:
        sites = []
        for number in range(count):
            port = free_port()
            place = {**env, "KSCHEDWEB_PORT": str(port)}
            stack.enter_context(running(WEB, folder / f"web-{number}.log", place, ROOT))
            sites.append(Site(f"http://127.0.0.1:{port}"))
        for site in sites:
            wait_until(partial(site.answers, "/readyz"), "the web process is ready")
        yield sites


def attempt(site: Site, username: str, password: str, forwarded: str) -> int:
    """The status of one login by the form: 302 inside, 200 wrong, 429 refused."""
    with requests.Session() as session:
        session.headers["X-Forwarded-For"] = forwarded
        form = session.get(f"{site.url}/login/", timeout=30)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
        assert token
        body = {"csrfmiddlewaretoken": token[1], "username": username, "password": password}
        return session.post(f"{site.url}/login/", data=body, allow_redirects=False, timeout=60).status_code
