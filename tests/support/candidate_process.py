"""Code that runs in the process of a candidate: see candidate.py."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings

if not apps.ready:
    django.setup()

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.live.schedulers.election.elector import Elector
from kschedweb.live.schedulers.election.locks import make_lock

# Seconds. A lease that is as short makes the tests shorter, and nothing else.
LEASE, RENEW, RETRY = 2.0, 1.0, 0.2
SAMPLE = 0.003


def clock() -> float:
    """Seconds since boot: the same in every process of the machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def take_part(kind: str, name: str, identity: str, secret: Secret, log: str) -> None:
    """Be a candidate until SIGTERM; each line of ``log`` is a look at itself: from when to when, leading, epoch."""
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    lock = make_lock(kind, Client.open(secret), "kube-system", name, identity, seconds=RENEW / 2)
    elector = Elector(lock, identity, lease=LEASE, renew=RENEW, retry=RETRY)
    thread = threading.Thread(target=elector.run, args=(stop,))
    thread.start()
    with Path(log).open("w") as lines:
        while thread.is_alive():
            epoch, before = elector.epoch, clock()
            leading, after = elector.leading, clock()
            if epoch == elector.epoch:
                lines.write(f"{before:.6f} {after:.6f} {leading:d} {epoch}\n")
                lines.flush()
            time.sleep(SAMPLE)
