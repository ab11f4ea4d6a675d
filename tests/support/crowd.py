"""People at work on a site's pages, each as a browser would ask: think, reload, reconnect with backoff."""

from __future__ import annotations

import contextlib
import html
import http.client
import random
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from tests.support.people import UNANSWERED, Answer, Person

THINK = (1.0, 5.0)  # seconds between two pages of one person
REFUSED = 15.0  # seconds after which a person who was refused tries again, at most
STREAM_RETRY, STREAM_PATIENCE = 2.0, 30.0  # seconds until a stream is opened again, at first and at most
LOADED = re.compile(r'hx-get="([^"]+)"\s+hx-trigger="load"')  # the parts that a page asks for as it opens
POLICY = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: {}\n"


@dataclass(frozen=True)
class TimedAnswer:
    """One answer: to what kind of question, and when it was asked and had come, on the monotonic clock."""

    kind: str
    begun: float
    ended: float
    status: int
    retry_after: float
    words: str

    @property
    def milliseconds(self) -> float:
        return (self.ended - self.begun) * 1000


@dataclass
class Log:
    """Log of everybody's answers; safe to use from several threads."""

    rows: list[TimedAnswer] = field(default_factory=list)
    events: int = 0  # that streams brought
    stopped: threading.Event = field(default_factory=threading.Event)

    def add(self, kind: str, begun: float, answer: Answer) -> None:
        self.rows.append(TimedAnswer(kind, begun, time.monotonic(), answer.status, answer.retry_after, _words(answer)))


def _words(answer: Answer) -> str:
    """Return an unexpected answer's words, in short."""
    if 200 <= answer.status < 300:
        return ""
    text = answer.body.decode(errors="replace")
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    return " ".join((title[1] if title else text).split())[:160]


class GoesHome(Exception):
    """The work is over."""


class Worker:
    """One person at work until the log is stopped; ``think`` has the seconds between two pages."""

    think = THINK

    def __init__(self, person: Person, log: Log, seed: int) -> None:
        self.person, self.log, self.chance = person, log, random.Random(seed)

    def run(self) -> None:
        with contextlib.suppress(GoesHome):
            self.pause(self.chance.uniform(0, self.think[1]))
            while True:
                self.turn()
                self.pause(self.chance.uniform(*self.think))
        self.person.close()

    @abstractmethod
    def turn(self) -> None:
        """Perform the person's next step between two pauses."""

    def pause(self, seconds: float) -> None:
        """Raises GoesHome at the end, so that not all ask once more at that moment."""
        if self.log.stopped.wait(seconds):
            raise GoesHome

    def get(self, kind: str, path: str) -> Answer:
        return self._time_answer(kind, lambda: self.person.get(path))

    def post(self, kind: str, path: str, body: object, **headers: str) -> Answer:
        return self._time_answer(kind, lambda: self.person.post(path, body, **headers))

    def _time_answer(self, kind: str, ask: Callable[[], Answer]) -> Answer:
        begun = time.monotonic()
        answer = ask()
        self.log.add(kind, begun, answer)
        if answer.status in (UNANSWERED, 429, 503):
            self.pause(min(answer.retry_after or 2.0, REFUSED))
        return answer


class Watcher(Worker):
    """Looks at a live scheduler: its page, the parts that ask for themselves, and the stream."""

    def __init__(self, person: Person, log: Log, seed: int, live: str) -> None:
        super().__init__(person, log, seed)
        self.live = live

    def run(self) -> None:
        stream = threading.Thread(target=self.follows, daemon=True)
        stream.start()
        super().run()
        stream.join(30)

    def turn(self) -> None:
        self.get("live page", f"/live/{self.live}/")
        for _ in range(3):
            self.pause(5.0)
            self.get("live parts", f"/live/{self.live}/now/")
        self.get("live parts", f"/live/{self.live}/figures/")
        self.get("badge", "/approvals/badge/")

    def follows(self) -> None:
        with contextlib.suppress(GoesHome):
            self.follow()

    def follow(self) -> None:
        """The stream, again and again: soon after its end, ever later while it is refused."""
        last, pause = "", STREAM_RETRY
        self.pause(self.chance.uniform(0, THINK[1]))
        while True:
            begun, heard = time.monotonic(), False
            answer = Answer(UNANSWERED, 0)
            connection = http.client.HTTPConnection("127.0.0.1", self.person.port, timeout=30)
            try:
                for kind, text in self._events(connection, last):
                    if kind == "answer":
                        answer, heard = Answer(200, 0), True
                        self.log.add("stream opened", begun, answer)
                    elif kind == "id":
                        last = text
                        self.log.events += 1
            except Refused as refused:
                answer = refused.answer
                self.log.add("stream opened", begun, answer)
            except (OSError, http.client.HTTPException) as error:
                kind = "stream went on" if heard else "stream opened"
                self.log.add(kind, time.monotonic() if heard else begun, Answer(UNANSWERED, 0, repr(error).encode()))
            finally:
                connection.close()
            pause = STREAM_RETRY if heard else min(2 * pause, STREAM_PATIENCE)
            self.pause(max(pause, answer.retry_after))

    def _events(self, connection: http.client.HTTPConnection, last: str) -> Iterator[tuple[str, str]]:
        headers = self.person.headers | {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        connection.request("GET", f"/api/v1/live/{self.live}/stream/", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise Refused(Answer(response.status, 0, response.read(), response.headers))
        yield "answer", ""
        while not self.log.stopped.is_set() and (line := response.readline()):
            name, _, text = line.decode().partition(":")
            yield name, text.strip()


class Refused(Exception):
    """A stream was not opened."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Reader(Worker):
    """Reads decisions of a large cluster, each time of another pod."""

    def __init__(self, person: Person, log: Log, seed: int, cluster: str, pods: int) -> None:
        super().__init__(person, log, seed)
        self.cluster, self.pods = cluster, pods

    def turn(self) -> None:
        pod = f"bound-{self.chance.randrange(self.pods):05d}"
        self.get("decision", f"/decision/{self.cluster}/default/{pod}/")


class Walker(Worker):
    """Goes from cluster to cluster: overview, pods, nodes, and a decision."""

    def __init__(self, person: Person, log: Log, seed: int, clusters: list[str], pods: int) -> None:
        super().__init__(person, log, seed)
        self.clusters, self.pods = clusters, pods

    def turn(self) -> None:
        cluster = self.chance.choice(self.clusters)
        pod = f"bound-{self.chance.randrange(self.pods):05d}"
        pages = {
            "overview": f"/?cluster={cluster}",
            "pods": f"/pods/?cluster={cluster}",
            "nodes": f"/nodes/?cluster={cluster}",
            "decision": f"/decision/{cluster}/default/{pod}/",
        }
        for kind, path in pages.items():
            page = self.get(kind, path)
            for part in LOADED.findall(page.body.decode()):
                self.get(f"part of {kind}", html.unescape(part))
            self.pause(self.chance.uniform(*self.think))


class Overseer(Worker):
    """Looks at all clusters at once, and for a pod in all of them."""

    def turn(self) -> None:
        self.get("fleet", "/fleet/")
        self.pause(self.chance.uniform(*self.think))
        self.get("clusters", "/clusters/")
        self.pause(self.chance.uniform(*self.think))
        self.get("search of all", f"/fleet/search/?q=bound-{self.chance.randrange(1000):05d}")


class Editor(Worker):
    """Reads a policy of their own, has a change checked, and saves it."""

    def __init__(self, person: Person, log: Log, seed: int) -> None:
        super().__init__(person, log, seed)
        self.name, self._numbers, self._made = f"crowd-{seed}", count(1), False

    def turn(self) -> None:
        document = POLICY.format(next(self._numbers))
        if not self._made:
            response = self.post("policy saved", "/api/v1/policies/", {"name": self.name, "document": document})
            # Where the answer was lost, the policy may be there.
            self._made = response.status in (201, 409)
            return
        self.get("policy", f"/policies/{self.name}/")
        self.pause(self.chance.uniform(*self.think))
        self.post("policy checked", "/api/v1/policies/validate/", {"document": document})
        body = {"document": document, "comment": "more at once"}
        self.post("policy saved", f"/api/v1/policies/{self.name}/revisions/", body, **{"If-Match": "*"})


class Player(Worker):
    """Plays a scenario under a policy and looks at the run until it has ended."""

    def __init__(self, person: Person, log: Log, seed: int, scenario: str) -> None:
        super().__init__(person, log, seed)
        self.scenario = scenario

    def turn(self) -> None:
        body = {"scenario": self.scenario, "policy": "default", "seed": self.chance.randrange(10**6)}
        run = self.post("run started", "/api/v1/runs/start/", body)
        if run.status != 202:
            return
        address = f"runs/{run.json()['id']}/"
        for _ in range(20):
            self.pause(self.chance.uniform(*self.think))
            self.get("run", f"/{address}")
            state = self.get("run by REST", f"/api/v1/{address}")
            if state.status == 200 and state.json()["state"] in ("succeeded", "failed", "cancelled", "done"):
                return


class Approver(Worker):
    """Looks into the inbox and approves one request."""

    def turn(self) -> None:
        self.get("inbox", "/approvals/")
        waiting = self.get("requests by REST", "/api/v1/approvals/?state=waiting")
        rows = waiting.json()["results"] if waiting.status == 200 else []
        if rows:
            chosen = self.chance.choice(rows)
            self.post("approved", f"/api/v1/approvals/{chosen['id']}/approve/", {})


@contextlib.contextmanager
def at_work(workers: list[Worker], log: Log) -> Iterator[None]:
    """All of them at work until the end; then every connection of theirs is closed."""
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        log.stopped.set()
        for thread in threads:
            thread.join(90)
