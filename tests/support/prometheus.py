"""A real Prometheus on loopback, and exporters whose counters follow a curve that the test knows."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support.needs import missing
from tests.support.processes import free_port, running, wait_until

Curve = Callable[[float], float]  # seconds of the epoch -> share of a core, or of memory


class Prometheus:
    """One Prometheus; ``scrape`` names the exporters of ``job`` by port, ``web`` is its web configuration."""

    def __init__(
        self, folder: Path, *, scrape: Iterable[int] = (), web: str = "", job: str = "node", rules: Path | None = None
    ) -> None:
        if not shutil.which("prometheus") or not shutil.which("promtool"):
            missing("install Debian's prometheus")
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._jobs = ", ".join(f"'127.0.0.1:{port}'" for port in scrape)
        self._web, self._job, self._rules = web, job, rules
        self.process: subprocess.Popen[bytes] | None = None

    def backfill(self, lines: Iterable[str]) -> None:
        """Put samples of the past into the data folder, in the OpenMetrics format with times."""
        text = self.folder / "past.txt"
        text.write_text("\n".join(lines) + "\n# EOF\n")
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(self.folder / "data")],
            check=True,
            capture_output=True,
        )

    @contextlib.contextmanager
    def started(self, *, tls: bool = False) -> Iterator[Prometheus]:
        """Run it; with ``tls`` it is ready as soon as its port is open."""
        configuration = self.folder / "prometheus.yml"
        configuration.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{self._rules or ''}]\nscrape_configs:\n"
            f"- {{job_name: {self._job}, static_configs: [{{targets: [{self._jobs}]}}]}}\n"
        )
        command = [
            "prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}", "--storage.tsdb.allow-overlapping-blocks",
            "--log.level=warn",
        ]  # fmt: skip
        if self._web:
            web = self.folder / "web.yml"
            web.write_text(self._web)
            command.append(f"--web.config.file={web}")
        with running(command, self.folder / "prometheus.log") as process:
            self.process = process
            wait_until(lambda: process.poll() is not None or self._ready(tls), "prometheus ready", step=0.2)
            if process.poll() is not None:
                raise RuntimeError((self.folder / "prometheus.log").read_text()[-2000:])
            yield self

    def _ready(self, tls: bool) -> bool:
        import socket

        with contextlib.suppress(OSError):
            if tls:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        return False

    def ask(self, path: str, **parameters: str) -> Any:
        """``data`` of what ``/api/v1/PATH`` answers."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urlencode(parameters)}", timeout=5) as answer:
            return json.load(answer)["data"]

    def value(self, query: str) -> float | None:
        """The first value that ``query`` gives now."""
        with urllib.request.urlopen(f"{self.url}/api/v1/query?query={query}", timeout=5) as answer:
            samples = json.load(answer)["data"]["result"]
        return float(samples[0]["value"][1]) if samples else None


class Exporter:
    """A server of text that is made anew for each scrape, as of its time."""

    def __init__(self, text: Callable[[float], str]) -> None:
        class MetricsHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = text(time.time()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), MetricsHandler)
        self.port: int = self.server.server_address[1]

    @contextlib.contextmanager
    def started(self) -> Iterator[Exporter]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield self
        self.server.shutdown()
        self.server.server_close()
        thread.join()


def series(name: str, labels: str, curve: Curve, *, start: float, end: float, step: float) -> Iterator[str]:
    """Samples of a gauge that follows ``curve``, in the OpenMetrics format."""
    moment = start
    while moment <= end:
        yield f"{name}{{{labels}}} {curve(moment):.6f} {moment:.3f}"
        moment += step


def counter(curve: Curve, *, start: float, step: float) -> Curve:
    """The counter whose rate is ``curve``, exactly between multiples of ``step`` after ``start``."""
    totals: list[float] = [0.0]

    def total(moment: float) -> float:
        steps = round((moment - start) / step)
        while len(totals) <= steps:
            totals.append(totals[-1] + step * curve(start + step * (len(totals) - 0.5)))
        return totals[steps]

    return total
