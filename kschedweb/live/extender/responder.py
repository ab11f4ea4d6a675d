"""Answer kube-scheduler from the memory of a web process: one responder for each extender endpoint in use.

The first call opens a responder; ten minutes without a call close it, so that a process without calls reads no
cluster. Each responder has a thread that reads the rows again every two seconds. While the database is away, the
responder answers by the rows that it read last.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DatabaseError, close_old_connections, connection
from django.db.models.functions import Now
from django.utils import timezone

from kschedweb.clusters.connecting.openers import get_opener, renew_opener
from kschedweb.clusters.following.facts import KnownPods
from kschedweb.clusters.following.view import View, follow_cluster
from kschedweb.engine.cycle.extender_handler import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderHandler,
    ExtenderPreemptionArgs,
    filter_result,
    neutral_host_priorities,
)
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.live import PodRef
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.extender.secrets import shows_secret
from kschedweb.live.extender.selectors import plugins_in_force
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.selectors import live_configuration, live_list, revision_in_force
from kschedweb.live.schedulers.writing.writer import Writer
from kschedweb.watermarks import selectors as watermarks
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Hashable
    from uuid import UUID

    from kschedweb.clusters.models import Cluster
    from kschedweb.policies.models import Revision

# Seconds between two reads of the rows.
REREAD = 2.0
# Seconds between two rounds of a responder's keeper.
ROUND = 1.0
HEARTBEAT = 5.0
# Seconds without a call after which a responder closes.
IDLE = 600.0
OFF = "the extender is switched off"
logger = structlog.get_logger(__name__)
# The answer, and what is wrong with it ("" for nothing).
Result = tuple[Any, str]


@dataclass(frozen=True)
class ResponderSettings:
    """The rows that a responder goes by, as last read."""

    live: LiveScheduler
    endpoint: Endpoint
    revision: Revision

    @property
    def key(self) -> Hashable:
        """Return a key that is equal as long as the same cluster is read and calls are answered in the same way."""
        live, endpoint = self.live, self.endpoint
        cluster = live.cluster_id, live.cluster.server
        return live.mode, cluster, live.scheduler_name, self.revision.pk, live.reloads, tuple(endpoint.plugins)

    @property
    def is_on(self) -> bool:
        return self.live.mode == Mode.EXTENDER


def read_settings(live_id: UUID) -> ResponderSettings | None:
    """Return the present rows, None if there are none."""
    live = live_list().select_related("endpoint").filter(pk=live_id, endpoint__isnull=False).first()
    return ResponderSettings(live, live.endpoint, revision_in_force(live)) if live is not None else None


class Responder:
    """Answers for one endpoint. ``connect`` starts the feed of the view, and returns a function that stops it."""

    def __init__(
        self,
        settings: ResponderSettings,
        connect: Callable[[Cluster, View], Callable[[], None]],
        read: Callable[[UUID], ResponderSettings | None],
    ) -> None:
        self.settings = settings
        # False once it is closed.
        self.current = True
        self._read, self._read_at, self._told = read, time.monotonic(), ""
        self.counts: Counter[str] = Counter()
        self.asked = time.monotonic()
        live = settings.live
        configuration = live_configuration(live, settings.revision)
        self.view = View(configuration)
        self._answers = ExtenderHandler(configuration, plugins_in_force(settings.endpoint, configuration))
        self._version: str | None = None
        self._beaten = 0.0
        self._started = timezone.now()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._writing: Writer | None = None
        self._disconnect = connect(live.cluster, self.view) if settings.is_on else lambda: None
        self._keeper = threading.Thread(target=self._run_keeper, name=f"extender {live.scheduler_name}", daemon=True)
        self._keeper.start()

    def close(self) -> None:
        """Stop reading the cluster. The threads end by themselves."""
        self.current = False
        self._stopping.set()
        self._disconnect()

    def answer_question(self, verb: str, body: bytes) -> Result:
        """Return the answer for kube-scheduler. Raise ExtenderArgsError for a body that cannot be read."""
        self.asked = time.monotonic()
        answer, trouble = getattr(self, f"_{verb}")(body)
        self.counts[f"{verb} in vain" if trouble else verb] += 1
        # Only a change is logged: kube-scheduler calls hundreds of times a second.
        if trouble != self._told:
            self._told = trouble
            logger.info("extender_trouble", scheduler=str(self.settings.live.pk), verb=verb, trouble=trouble[:500])
        return answer, trouble

    def _trouble_with(self, setting: str) -> str:
        if not (self.settings.is_on and getattr(self.settings.endpoint, setting)):
            return OFF
        return self.view.trouble

    def _filter(self, body: bytes) -> Result:
        question = ExtenderArgs.from_body(body)
        if trouble := self._trouble_with("filters"):
            return filter_result(question, error=f"kschedweb: {trouble}"), trouble
        with self.view.reading() as snapshot:
            answer = self._answers.filter(snapshot, question)
        return answer, answer["Error"]

    def _prioritize(self, body: bytes) -> Result:
        question = ExtenderArgs.from_body(body)
        if trouble := self._trouble_with("prioritizes"):
            return neutral_host_priorities(question), trouble
        try:
            with self.view.reading() as snapshot:
                return self._answers.prioritize(snapshot, question), ""
        except CycleError as error:
            return neutral_host_priorities(question), str(error)

    def _preempt(self, body: bytes) -> Result:
        """Without knowledge of the cluster, agree to kube-scheduler's offer. No victim is ever added here."""
        offer = ExtenderPreemptionArgs.from_body(body)
        if trouble := self._trouble_with("preempts"):
            return offer.to_result(offer.nodes), trouble
        with self.view.reading() as snapshot:
            return self._answers.process_preemption(snapshot, offer), ""

    def _bind(self, body: bytes) -> Result:
        bond = ExtenderBindingArgs.from_body(body)
        trouble = self._trouble_with("binds") or self._bind_refusal(bond)
        if not trouble:
            try:
                outcome = self._get_writer().bind(PodRef(bond.namespace, bond.name, bond.uid), bond.node)
                trouble = "" if outcome.is_done else outcome.text or str(outcome.result)
            except ApplicationError as error:
                trouble = error.detail
        return {"Error": f"kschedweb: {trouble}" if trouble else ""}, trouble

    def _get_writer(self) -> Writer:
        """Return the writer, made at the first binding. Raise ApplicationError if the credentials cannot be opened."""
        with self._lock:
            if self._writing is None:
                client = get_opener(self.settings.live.cluster).open()
                # kube-scheduler leads: it requests this one binding, and nobody else does at the same time.
                self._writing = Writer(client, KnownPods(), leading=lambda: True)
            return self._writing

    def _bind_refusal(self, bond: ExtenderBindingArgs) -> str:
        """Return why the pod is not bound here. The secret allows only bindings that kube-scheduler would make."""
        pod = self.view.pod(bond.uid)
        if pod is None or (pod.namespace, pod.name) != (bond.namespace, bond.name):
            return "the pod is not known"
        if pod.scheduler_name != self.settings.live.scheduler_name:
            return f"the pod is another scheduler's: {pod.scheduler_name}"
        if pod.gates or pod.terminating:
            return "the pod is gated or being deleted"
        with self.view.reading() as snapshot:
            return "" if bond.node in snapshot.index else "the node is not known"

    # In the responder's own thread.

    def _run_keeper(self) -> None:
        while not self._stopping.wait(ROUND):
            try:
                self._reread_rows()
                self._update_watermarks()
                self._write_heartbeat()
            except DatabaseError:
                logger.warning("extender_without_database", scheduler=self.settings.live.scheduler_name)
            except Exception:
                logger.exception("extender_keeper_failed", scheduler=self.settings.live.scheduler_name)
            finally:
                close_old_connections()
        connection.close()

    def _reread_rows(self) -> None:
        """Read the rows again. Close if they need another responder, or if no call has come for a while."""
        if time.monotonic() - self._read_at < REREAD:
            return
        self._read_at = time.monotonic()
        settings = self._read(self.settings.live.pk)
        if settings is None or settings.key != self.settings.key or time.monotonic() - self.asked > IDLE:
            self.close()
        else:
            self.settings = settings
            renew_opener(settings.live.cluster)

    def _update_watermarks(self) -> None:
        cluster = self.settings.live.cluster
        version = watermarks.figures_version(cluster)
        if version != self._version:
            self.view.update_watermarks(watermarks.current_watermarks(cluster) if version else None)
            self._version = version

    def _write_heartbeat(self) -> None:
        """Show this process among the candidates of the live scheduler."""
        if not self.settings.is_on or time.monotonic() - self._beaten < HEARTBEAT:
            return
        self._beaten = time.monotonic()
        trouble = self.view.trouble
        with self.view.reading() as snapshot:
            depths = {"nodes": len(snapshot), "pods": len(snapshot.pods.slots), **self.counts}
        values = {
            "mode": Mode.EXTENDER, "leading": True, "synced": self.view.synced, "started_at": self._started,
            "heartbeat": Now(), "ticked_at": Now(), "depths": depths, "revision": self.settings.revision,
            "error": trouble[:500], "error_at": Now() if trouble else None,
        }  # fmt: skip
        Candidate.objects.update_or_create(scheduler=self.settings.live, identity=IDENTITY, defaults=values)


class Responders:
    """All responders of this process. Several threads may use it."""

    def __init__(
        self,
        connect: Callable[[Cluster, View], Callable[[], None]],
        read: Callable[[UUID], ResponderSettings | None] = read_settings,
    ) -> None:
        self._connect, self._read = connect, read
        self._lock = threading.Lock()
        self._responders: dict[UUID, Responder] = {}

    def open_responder(self, live_id: UUID, header: str) -> Responder | None:
        """Return the responder that the Authorization ``header`` opens, None if it opens none.

        The database is read only if no open responder accepts the header. Raises ApplicationError if the cluster's
        credentials cannot be opened, and DatabaseError.
        """
        responder = self._responders.get(live_id)
        if responder is not None and responder.current and shows_secret(responder.settings.endpoint.digest, header):
            return responder
        settings = self._read(live_id)
        if settings is None or not shows_secret(settings.endpoint.digest, header):
            return None
        # Another thread may have opened the same responder meanwhile.
        with self._lock:
            responder = self._responders.get(live_id)
            if responder is None or not responder.current or responder.settings.key != settings.key:
                if responder is not None:
                    responder.close()
                responder = self._responders[live_id] = Responder(settings, self._connect, self._read)
            responder.settings = settings
            return responder

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for responder in self._responders.values():
                responder.close()
            self._responders.clear()


IDENTITY = f"{socket.gethostname()}_{os.getpid()}_web"
responders = Responders(follow_cluster)
