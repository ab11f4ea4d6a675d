"""Candidates of an election as processes that write down when they lead, and can be paused and killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.connecting.credentials import Secret
from tests.support.candidate_process import LEASE, RENEW, RETRY, clock, take_part
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

# A process that has read all modules makes candidates by forking, so that they cost next to nothing.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.support.candidate_process", "pytest"])


@dataclass(frozen=True)
class Look:
    """At some moment from ``begin`` to ``end`` the candidate led in the term ``epoch``, or did not lead."""

    begin: float
    end: float
    leading: bool
    epoch: str

    def goes_on(self, before: Look) -> bool:
        """Return whether it led in one term from ``before`` until now."""
        return self.leading and before.leading and self.epoch == before.epoch


class Candidate:
    """One process: ours, or with ``client_go`` (the program) one of Kubernetes 1.19."""

    def __init__(self, plane: ControlPlane, folder: Path, kind: str, name: str, identity: str, client_go: str) -> None:
        self.kind, self.identity, self.log = kind, identity, folder / f"{identity}.log"
        self._theirs: subprocess.Popen[bytes] | None = None
        self.log.touch()
        if client_go:
            command = [
                client_go, "-server", plane.url, "-ca", str(plane.folder / "certs" / "apiserver.crt"), "-lock", kind,
                "-name", name, "-identity", identity, "-lease", f"{LEASE}s", "-renew", f"{RENEW}s", "-retry",
                f"{RETRY}s",
            ]  # fmt: skip
            with self.log.open("wb") as output, self.log.with_suffix(".err").open("wb") as errors:
                environment = {"TOKEN": plane.tokens["admin"], "PATH": os.environ["PATH"]}
                self._theirs = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
            self.pid = self._theirs.pid
        else:
            secret = Secret(server=plane.url, ca=plane.ca, token=plane.tokens["admin"])
            arguments = (kind, name, identity, secret, str(self.log))
            self._ours: Any = _processes.Process(target=take_part, args=arguments, daemon=True)
            self._ours.start()
            self.pid = self._ours.pid or 0

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """Have it give the lock back, or with SIGKILL not; until it is gone."""
        self.send(number)
        if self._theirs is not None:
            self._theirs.wait(10)
        else:
            self._ours.join(10)

    @property
    def alive(self) -> bool:
        return self._theirs.poll() is None if self._theirs is not None else self._ours.is_alive()

    def looks(self) -> Iterator[Look]:
        """Every look at itself that was written to its end."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        for line in whole.splitlines():
            match line.split():
                case [begin, end, leading, epoch]:
                    yield Look(float(begin), float(end), leading == "1", epoch)
                case [at, leading]:
                    yield Look(float(at), float(at), leading == "1", "")

    @property
    def leads(self) -> bool:
        """Return whether it led for certain until a moment ago."""
        looks = list(self.looks())
        return len(looks) > 1 and looks[-1].goes_on(looks[-2]) and clock() - looks[-1].end < 0.3

    def spans(self) -> list[tuple[float, float]]:
        """From when to when it led for certain: from the end of the first look of a term to the beginning of the last.

        While it was paused it led on if it did before and after in the same term.
        """
        spans: list[tuple[float, float]] = []
        before: Look | None = None
        for look in self.looks():
            if before is not None and look.goes_on(before):
                spans[-1] = (spans[-1][0], look.begin)
            elif look.leading:
                spans.append((look.end, look.begin))
            before = look
        return [span for span in spans if span[1] > span[0]]


class Field:
    """All candidates of one election, named ``name`` whatever their locks are."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str) -> None:
        self.plane, self.name, self._folder = plane, name, folder
        self.all: list[Candidate] = []

    def start(self, kind: str, client_go: str = "") -> Candidate:
        identity = f"{self.name}-{len(self.all)}-{kind}{'-go' * bool(client_go)}"
        self.all.append(Candidate(self.plane, self._folder, kind, self.name, identity, client_go))
        return self.all[-1]

    def leader(self, *excluded: Candidate) -> Candidate:
        """Wait for a leader that is none of ``excluded``, and return it."""
        leaders: list[Candidate] = []

        def led() -> bool:
            leaders[:] = [
                candidate for candidate in self.all if candidate not in excluded and candidate.alive and candidate.leads
            ]
            return bool(leaders)

        wait_until(led, f"somebody leads {self.name}", step=0.05)
        return leaders[0]

    def pause(self, candidate: Candidate) -> Candidate:
        """Pause ``one`` until another leads, and wake it again; who leads then. It may try to lead for some time."""
        candidate.send(signal.SIGSTOP)
        other = self.leader(candidate)
        candidate.send(signal.SIGCONT)
        woken = clock()
        wait_until(lambda: any(look.begin > woken + 2 * RETRY for look in candidate.looks()), "it goes on", step=0.05)
        return other

    def check(self) -> None:
        """Fails with every two candidates that led at once."""
        spans = [(span, candidate.identity) for candidate in self.all for span in candidate.spans()]
        assert spans
        for ((begin, end), holder), ((start, stop), other_holder) in combinations(spans, 2):
            assert holder == other_holder or end <= start or stop <= begin, (
                f"{holder} and {other_holder} led at once, {begin} {start}"
            )

    def close(self) -> None:
        for candidate in self.all:
            if candidate.alive:
                candidate.send(signal.SIGCONT)
                candidate.end(signal.SIGKILL)
