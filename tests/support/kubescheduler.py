"""The real kube-scheduler as a process beside the test control plane, and every word it says of pods."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import urllib3

from kschedweb.engine.config import Release
from kschedweb.engine.releases import RELEASES, find_nearest_release
from tests.support.processes import free_port, running, wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane


def release_of(assets: Path) -> Release:
    """The release that the kube-scheduler and the oracle in the folder ``assets`` are.

    Where the build has not written it down, kube-scheduler says it.
    """
    if (written := assets / "version").exists():
        version = written.read_text().strip()
    else:
        command = [str(assets / "kube-scheduler"), "--version"]
        version = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()[1]
    return RELEASES[find_nearest_release(version)]


@contextlib.contextmanager
def kube_scheduler(
    plane: ControlPlane,
    document: dict[str, Any],
    user: str = "admin",
    *,
    verbosity: int = 0,
    qps: int = 5000,
    burst: int = 5000,
    elects: bool = False,
    gates: str = "",
) -> Iterator[Path]:
    """Run kube-scheduler on ``plane`` with the configuration ``document``; yields its log once it has read the cluster.

    ``verbosity`` is how much it logs: from 5 on every move of a pod in its queue. ``qps`` and ``burst`` limit how fast
    it asks the API server, in calls a second. ``elects``: it takes part in an election, and waits until it leads.
    ``gates``: feature gates that are switched, as ``A=true,B=false``.
    """
    folder, port = plane.folder / "kube-scheduler", free_port()
    folder.mkdir(exist_ok=True)
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig(plane, user)))
    client = {"kubeconfig": str(folder / "kubeconfig"), "qps": qps, "burst": burst}
    settings = {"clientConnection": client, "leaderElection": {"leaderElect": elects}}
    (folder / "config.yaml").write_text(json.dumps(document | settings))
    command = [
        str(plane.assets / "kube-scheduler"), "--config", str(folder / "config.yaml"),
        "--bind-address", "127.0.0.1", "--secure-port", str(port), "--cert-dir", str(folder / "certs"),
        f"--v={verbosity}", "--authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics",
    ]  # fmt: skip
    if gates:
        command += ["--feature-gates", gates]
    log = folder / "log"
    log.unlink(missing_ok=True)
    with running(command, log) as process:

        def ready() -> bool:
            try:
                with urllib3.PoolManager(ca_certs=str(folder / "certs" / "kube-scheduler.crt")) as http:
                    answer = http.request("GET", f"https://127.0.0.1:{port}/readyz", retries=False, timeout=5)
                    return answer.status == 200
            except (FileNotFoundError, urllib3.exceptions.HTTPError):
                return False

        with contextlib.suppress(TimeoutError):
            wait_until(lambda: process.poll() is not None or ready(), "kube-scheduler ready", step=0.2)
        if process.poll() is not None or not ready():
            raise RuntimeError(log.read_text()[-2000:])
        yield log


def kubeconfig(plane: ControlPlane, user: str) -> dict[str, Any]:
    """Return the kubeconfig with which ``user`` reaches the control plane."""
    cluster = {"server": plane.url, "certificate-authority": str(plane.folder / "certs" / "apiserver.crt")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": plane.tokens[user]}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": user}}],
        "current-context": "here",
    }


def kube_scheduler_metrics(log: Path) -> str:
    """Return the Prometheus metrics of the kube-scheduler that writes ``log``."""
    address = re.search(r"Serving securely on (\S+)", log.read_text())
    assert address is not None
    with urllib3.PoolManager(ca_certs=str(log.parent / "certs" / "kube-scheduler.crt")) as http:
        answer = http.request("GET", f"https://{address[1]}/metrics", retries=False, timeout=10)
    assert answer.status == 200
    return answer.data.decode()


class PodWatch:
    """All states of all pods from now on, in their order, so that none is missed that lasts but a moment."""

    def __init__(self, plane: ControlPlane) -> None:
        version = plane.call("GET", "/api/v1/pods?limit=1")["metadata"]["resourceVersion"]
        self._states: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._news = threading.Condition()
        self._http = urllib3.PoolManager(ca_cert_data=plane.ca)
        self._answer = self._http.request(
            "GET",
            f"{plane.url}/api/v1/pods?watch=true&resourceVersion={version}",
            headers={"Authorization": f"Bearer {plane.tokens['admin']}"},
            preload_content=False,
            timeout=urllib3.Timeout(connect=10, read=None),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        buffer = b""
        for chunk in self._chunks():
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                metadata = event["object"]["metadata"]
                pod = event["object"] | {"deleted": event["type"] == "DELETED"}
                with self._news:
                    self._states[f"{metadata['namespace']}/{metadata['name']}"].append(pod)
                    self._news.notify_all()

    def _chunks(self) -> Iterator[bytes]:
        # The stream has no end but the one that ``close`` makes.
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            yield from self._answer.stream(2**16)

    def wait_for(self, key: str, matches: Callable[[dict[str, Any]], bool], expectation: str) -> dict[str, Any]:
        """The first state of the pod ``key`` that ``matches`` accepts; ``deleted`` says whether it is gone."""

        def state() -> dict[str, Any] | None:
            return next((pod for pod in self._states[key] if matches(pod)), None)

        with self._news:
            pod = self._news.wait_for(state, 20)
        if pod is None:
            raise TimeoutError(f"{key} {expectation}; it is {self._states[key][-1:]}")
        return pod

    def deleted_keys(self) -> set[str]:
        """The pods seen so far that are there no more."""
        with self._news:
            return {key for key, states in self._states.items() if states and states[-1]["deleted"]}

    def close(self) -> None:
        self._answer.shutdown()
        self._reader.join(10)
        self._http.clear()
