from __future__ import annotations

from tests.jobs.conftest import broker, send, worker_process

__all__ = ["broker", "send", "worker_process"]
