"""People with a session each, on kept-alive connections as browsers have them."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.processes import free_port, wait_until
from tests.support.site import Site

if TYPE_CHECKING:
    from tests.support.backstage import Backstage
    from tests.support.livesite import Deployment

UNANSWERED = 0  # instead of a status


@dataclass(frozen=True)
class Answer:
    """``status`` is ``UNANSWERED`` where none came; ``milliseconds`` until the last byte."""

    status: int
    milliseconds: float
    body: bytes = b""
    headers: HTTPMessage = field(default_factory=HTTPMessage)

    @property
    def retry_after(self) -> float:
        """The seconds of Retry-After; 0 without it."""
        return float(self.headers.get("Retry-After") or 0)

    def json(self) -> Any:
        return json.loads(self.body)


class Person:
    """One person's browser: a session and one connection to the web process at ``port``."""

    def __init__(self, port: int, session: str) -> None:
        self.port = port
        self.session, csrf = session, secrets.token_hex(16)
        self.headers = {"Cookie": f"sessionid={session}; csrftoken={csrf}", "X-CSRFToken": csrf}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        return self.ask("POST", path, json.dumps(body).encode(), **{"Content-Type": "application/json"} | headers)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Any status; an idle connection that the server has closed is opened again."""
        fresh, begun = self._connection.sock is None, time.monotonic()
        try:
            self._connection.request(method, path, body, self.headers | headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if not fresh and isinstance(error, (http.client.RemoteDisconnected, ConnectionError)):
                return self.ask(method, path, body, **headers)
            return Answer(UNANSWERED, _since(begun), repr(error).encode())
        return Answer(response.status, _since(begun), content, response.headers)

    def close(self) -> None:
        self._connection.close()


class Led(Person):
    """A person behind a proxy: whichever of several web processes is there answers, first the one that did last."""

    def __init__(self, ports: Sequence[int], session: str) -> None:
        super().__init__(ports[0], session)
        self._ways = [Person(port, session) for port in ports]

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        for way in tuple(self._ways):
            answer = way.ask(method, path, body, **headers)
            if answer.status != UNANSWERED:
                break
            self._ways.append(self._ways.pop(0))
        return answer

    def close(self) -> None:
        for way in self._ways:
            way.close()


class Web:
    """A web process of a deployment, as docker-compose.yml starts it."""

    def __init__(self, deployment: Deployment, label: str) -> None:
        self.port = free_port()
        self.server = deployment.service("web", label, self.port)

    def start(self) -> None:
        self.server.start()
        site = Site(f"http://127.0.0.1:{self.port}")
        wait_until(lambda: site.answers("/readyz"), f"the web process is ready, see {self.server.log}", step=0.2)

    def restart(self) -> None:
        """A new process in its place, which knows nothing."""
        self.server.stop()
        self.start()

    def people(self, backstage: Backstage, role: str, count: int) -> list[Person]:
        """So many new people of a role, with a session each."""
        names = [f"{role}-{secrets.token_hex(4)}" for _ in range(count)]
        return [Person(self.port, backstage("log_in", person=name, role=role)) for name in names]

    def cpu(self) -> float:
        """Milliseconds of processor time that the process has used."""
        return processor_time(self.server.pid)


def processor_time(pid: int) -> float:
    """Milliseconds that a process has spent on a core."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")


def at_once(people: Sequence[Person], paths: Callable[[], str], pages: int) -> list[Answer]:
    """Everybody asks for one page after the other, ``pages`` each, all at the same time."""

    def browse(person: Person) -> list[Answer]:
        return [person.get(paths()) for _ in range(pages)]

    with ThreadPoolExecutor(len(people)) as threads:
        return [answer for answers in list(threads.map(browse, people)) for answer in answers]


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of them are; 0 without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def _since(begun: float) -> float:
    return (time.monotonic() - begun) * 1000
