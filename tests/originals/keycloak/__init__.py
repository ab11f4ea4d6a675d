"""The real Keycloak on loopback, with the realm of realm.json, and its administration over REST."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.needs import missing
from tests.support.processes import PATIENCE, Server, free_port, wait_until

KEEPER = ("keeper", "keeper-password")  # of the build script
REALM, CLIENT, SECRET = "company", "kschedweb", "a-secret-of-the-test-realm"
START_SECONDS = 180  # on a busy machine


class Keycloak:
    def __init__(self, home: Path, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self.issuer = f"{self.url}/realms/{REALM}"
        self.log = folder / "keycloak.log"
        shutil.copytree(home / "prepared", folder / "database")
        database = f"jdbc:h2:file:{folder / 'database' / 'keycloakdb'};NON_KEYWORDS=VALUE"
        # It tells a session's end once: a busy site may take its time to answer.
        patience = f"--spi-connections-http-client--default--socket-timeout-millis={PATIENCE * 1000:.0f}"
        listening = ["--http-enabled=true", "--http-host=127.0.0.1", f"--http-port={port}", "--hostname-strict=false"]
        command = [
            str(home / "bin" / "kc.sh"),
            "start",
            "--optimized",
            "--cache=local",
            *listening,
            patience,
            f"--db-url={database}",
        ]
        # It runs for a minute: the first compiler alone costs less than it gains.
        env = {**os.environ, "JAVA_OPTS_APPEND": "-XX:TieredStopAtLevel=1"}
        self.server = Server(command, self.log, env)
        self._token, self._token_until = "", 0.0

    def _started(self) -> bool:
        if not self.server.alive:
            raise RuntimeError(f"Keycloak ended: {self.log.read_text()[-2000:]}")
        return bool(re.search(r"Keycloak \S+ on JVM .* started in", self.log.read_text()))

    @contextlib.contextmanager
    def running(self) -> Iterator[Keycloak]:
        self.server.start()
        try:
            wait_until(self._started, "Keycloak is started", seconds=START_SECONDS, step=0.5)
            yield self
        finally:
            self._end()

    def _end(self) -> None:
        """kc.sh waits for Java and would leave it behind: that ends first, and the script with it."""
        if self.server.alive:
            pid = self.server.pid
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                os.kill(int(child), signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                wait_until(lambda: not self.server.alive, "Keycloak has ended")
        self.server.stop()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A call to the administration of the realm."""
        if time.monotonic() > self._token_until:
            form = {"grant_type": "password", "client_id": "admin-cli", "username": KEEPER[0], "password": KEEPER[1]}
            answer = requests.post(f"{self.url}/realms/master/protocol/openid-connect/token", form, timeout=PATIENCE)
            answer.raise_for_status()
            self._token, self._token_until = answer.json()["access_token"], time.monotonic() + 30
        bearer = {"Authorization": f"Bearer {self._token}"}
        answer = requests.request(
            method, f"{self.url}/admin/realms/{REALM}/{path}", json=body, headers=bearer, timeout=PATIENCE
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def serve(self, site: str) -> None:
        """Let the client be the site at this address."""
        (client,) = self.ask("GET", f"clients?clientId={CLIENT}")
        client["redirectUris"] = [f"{site}/*"]
        client["attributes"] |= {
            "post.logout.redirect.uris": f"{site}/*",
            "backchannel.logout.url": f"{site}/login/at/company/ended/",
            "backchannel.logout.session.required": "true",
        }
        client["frontchannelLogout"] = False
        self.ask("PUT", f"clients/{client['id']}", client)

    def user(self, name: str) -> str:
        (user,) = self.ask("GET", f"users?username={name}&exact=true")
        return str(user["id"])

    def groups(self, name: str, *names: str) -> None:
        """Put a user into exactly these groups."""
        user = self.user(name)
        for group in self.ask("GET", f"users/{user}/groups"):
            self.ask("DELETE", f"users/{user}/groups/{group['id']}")
        for group in self.ask("GET", "groups"):
            if group["name"] in names:
                self.ask("PUT", f"users/{user}/groups/{group['id']}")

    def end(self, session: str) -> None:
        self.ask("DELETE", f"sessions/{session}")


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    """The real Keycloak, started for a module."""
    home = os.environ.get("KEYCLOAK")
    if not home:
        missing("set KEYCLOAK to what tests/originals/build keycloak prints")
    with Keycloak(Path(home), tmp_path_factory.mktemp("keycloak")).running() as server:
        yield server
