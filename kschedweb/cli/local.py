"""Answer about the person's own cluster with the engine: read it by kubectl, or from a dump, and build a scheduler."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.cli.exits import CommandError
from kschedweb.cli.kubeconfig import load_context
from kschedweb.cli.reading.choosing import open_source
from kschedweb.cli.reading.objects import ChoosePods, ClusterReading, read_cluster
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.reading.schedulers import RunningScheduler, find_schedulers, read_configuration
from kschedweb.cli.reading.source import ClusterSource, SourceOptions
from kschedweb.cli.session import PODS, CliSession, read_file
from kschedweb.engine.config import EMPTY, Configuration, Release
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.documents.configmaps import ConfigMapError, unpack_config_map
from kschedweb.engine.documents.files import ReadError, cluster_objects, read_document, read_documents, text_of
from kschedweb.engine.garbage import paused_collector
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import DEFAULT_SCHEDULER, Pod
from kschedweb.engine.releases import ReleaseError, get_release, load, parse_minor, read_gates
from kschedweb.engine.releases.classic.policy import is_policy_text
from kschedweb.engine.releases.cluster_version import guess_version, stated_version
from kschedweb.engine.state.snapshot import Snapshot

if TYPE_CHECKING:
    from kschedweb.engine.queueing.explaining.queue_state import QueueState

# A pod of a list, of the site or of a file.
FINISHED = ("Succeeded", "Failed")
# Returns a document of configuration for schedulers of these names, and where it is from.
ReadConfiguration = Callable[[RunningScheduler], tuple[str, str]]


@dataclass
class LocalCluster:
    """A cluster that was read, with the scheduler that answers for it."""

    scheduler: Scheduler
    # Sentences: what was assumed, and what could not be read.
    assumption: str
    gaps: tuple[str, ...]
    objects: Collection[Json]

    def read_queues(self) -> QueueState | None:
        """Return the quota queues of the cluster, None if it has none."""
        # Most clusters have none.
        from kschedweb.engine.queueing.explaining import queue_state

        return queue_state.read_state(self.objects, time.time()) if queue_state.has_queues(self.objects) else None

    @property
    def snapshot(self) -> Snapshot:
        return self.scheduler.snapshot

    def find_pod(self, key: str) -> Pod:
        """Return the pod ``namespace/name``. Raises CommandError."""
        try:
            return self.snapshot.get_pod(key)
        except KeyError:
            raise CommandError(f"there is no pod {key} that has not ended{self._describe_alternatives(key)}") from None

    def _describe_alternatives(self, key: str) -> str:
        name = key.partition("/")[2]
        keys = [*self.snapshot.pods.slots, *(pod.key for pod in self.snapshot.pending)]
        same_name = sorted(other for other in keys if other.partition("/")[2] == name)
        return f"; there is {', '.join(same_name[:4])}" if same_name else ""


def add_local_options(parser: argparse.ArgumentParser, *, namespace_help: str) -> None:
    """Add the options for the cluster, and for the scheduler that answers."""
    parser.add_argument(
        "--context", metavar="NAME", default="", help="a context of kubectl; the current one without it"
    )
    parser.add_argument("--kubeconfig", metavar="FILE", default="", help="as kubectl takes it")
    parser.add_argument("-n", "--namespace", metavar="NAME", default="", help=namespace_help)
    parser.add_argument(
        "--snapshot", metavar="FILE", default="", help="a dump in place of a cluster: kubectl get … -o json"
    )
    parser.add_argument(
        "--policy", metavar="FILE", default="", help="the KubeSchedulerConfiguration; the cluster's own, else defaults"
    )
    parser.add_argument("--release", default="", metavar="1.37", help="of kube-scheduler; the cluster's without it")
    parser.add_argument("--feature-gates", default="", help="Name=true,Other=false; the cluster's without it")


def resolve_namespace(options: argparse.Namespace, session: CliSession) -> str:
    """Return the namespace of the options, else that of kubectl's context, else ``default``."""
    if options.namespace or options.snapshot:
        return str(options.namespace) or "default"
    environment = {**session.environment, **({"KUBECONFIG": options.kubeconfig} if options.kubeconfig else {})}
    try:
        return load_context(environment, options.context).namespace or "default"
    except CommandError:
        # Without a kubeconfig kubectl may still know a cluster, as inside of a pod.
        return "default"


def parse_pod_key(text: str, options: argparse.Namespace, session: CliSession) -> str:
    """Return ``namespace/name`` of ``web-1``, ``pod/web-1`` or ``shop/web-1``. Raises CommandError."""
    before, slash, name = text.rpartition("/")
    if not name or "/" in before:
        raise CommandError(f"{text}: must be a pod, such as web-1, pod/web-1 or shop/web-1")
    if not slash or before in PODS:
        return f"{resolve_namespace(options, session)}/{name}"
    return f"{before}/{name}"


@contextmanager
def answering() -> Iterator[None]:
    """Compute within the context: amounts wrap around silently, as int64 does in kube-scheduler."""
    with paused_collector(), np.errstate(over="ignore"):
        yield
        # The command ends soon: a walk over all that was read would only take time.
        gc.freeze()


def load_cluster(
    options: argparse.Namespace,
    choose_pods: ChoosePods,
    progress: StepWriter,
    *,
    namespace: str = "",
    new_pods: bool = False,
    extra_objects: Collection[Json] = (),
) -> LocalCluster:
    """Read the cluster that ``options`` choose, as ``read_cluster`` does, and add ``extra_objects`` to it.

    Raises CommandError.
    """
    read: ReadConfiguration = _no_configuration
    if options.snapshot:
        reading = read_dump(options.snapshot)
    else:
        source = open_source(SourceOptions(options.kubeconfig, options.context))
        reading = read_cluster(source, choose_pods, progress, namespace=namespace, new_pods=new_pods)
        read = _configuration_reader(source)
    chosen_pods = choose_pods([raw for raw in reading.objects if raw.get("kind") == "Pod"])
    names = {str((raw.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER) for raw in chosen_pods}
    configuration, assumption = choose_configuration(options, reading, names or {DEFAULT_SCHEDULER}, read)
    progress.step(f"Preparing {len(reading.objects):,} objects")
    snapshot = Snapshot.from_objects([*reading.objects, *extra_objects], counting=configuration.release.counting)
    progress.clear()
    scheduler = Scheduler.from_configuration(snapshot, configuration)
    return LocalCluster(scheduler, assumption, tuple(reading.gaps), reading.objects)


def _no_configuration(_: RunningScheduler) -> tuple[str, str]:
    return "", "a dump does not have it"


def _configuration_reader(source: ClusterSource) -> ReadConfiguration:
    return lambda scheduler: read_configuration(source, scheduler)


def read_dump(file: str) -> ClusterReading:
    """Read a cluster from a file. Raises CommandError."""
    try:
        documents = read_documents(read_file(file))
        version = next((text for raw in documents if isinstance(raw, dict) and (text := stated_version(raw))), "")
        listed = cluster_objects(raw for raw in documents if not (isinstance(raw, dict) and stated_version(raw)))
    except ReadError as error:
        raise CommandError(f"--snapshot {file}: {error}") from None
    pods = [raw for raw in listed if raw.get("kind") == "Pod"]
    objects = [raw for raw in listed if (raw.get("status") or {}).get("phase") not in FINISHED]
    return ClusterReading(objects, version or guess_version(listed).text, find_schedulers(pods))


def choose_configuration(
    options: argparse.Namespace, reading: ClusterReading, names: set[str], read: ReadConfiguration
) -> tuple[Configuration, str]:
    """Return the configuration that answers for schedulers with these ``names``, and what was assumed.

    Raises CommandError.
    """
    release, release_source = _choose_release(options, reading)
    if options.policy:
        return _read_policy(
            options.policy, release
        ), f"kube-scheduler {release.name} ({release_source}) with {options.policy}"
    reasons = []
    for scheduler in _without_replicas(reading.schedulers):
        text, place = read(scheduler)
        if text:
            loaded = load(text, release)
            profiles = loaded.configuration.profiles if loaded.configuration else ()
            if loaded.configuration and names & {profile.scheduler_name for profile in profiles}:
                return loaded.configuration, f"kube-scheduler {release.name} ({release_source}), configured by {place}"
        elif place:
            reasons.append(place)
    default = load(EMPTY, release).configuration
    assert default is not None
    why = f": {reasons[0]}; give it with --policy" if reasons else ""
    return default, f"kube-scheduler {release.name} ({release_source}) with its default configuration{why}"


def _without_replicas(schedulers: list[RunningScheduler]) -> list[RunningScheduler]:
    """Return one scheduler of those that run with the same file."""
    distinct = {(item.namespace, item.config_file, *item.config_maps.values()): item for item in reversed(schedulers)}
    return list(distinct.values())[::-1]


def _choose_release(options: argparse.Namespace, reading: ClusterReading) -> tuple[Release, str]:
    running = reading.schedulers[0] if reading.schedulers else None
    version, source = options.release, "--release"
    if not version and running is not None and parse_minor(running.version):
        version, source = parse_minor(running.version), f"as pod {running.namespace}/{running.name} runs it"
    elif not version and parse_minor(reading.version):
        version, source = parse_minor(reading.version), f"the cluster is {reading.version}"
    elif not version:
        source = "the newest known; name the cluster's with --release"
    try:
        gates = read_gates(options.feature_gates)
        if not options.feature_gates and running is not None:
            gates = _known_gates(version, running.feature_gates)
        return get_release(version, gates), source
    except ReleaseError as error:
        raise CommandError(str(error)) from None


def _known_gates(version: str, text: str) -> dict[str, bool]:
    """Return the gates with which a scheduler runs, without those that are not about scheduling."""
    try:
        gates = read_gates(text)
    except ReleaseError:
        return {}
    known_gates = {}
    for name, state in gates.items():
        try:
            get_release(version, {name: state})
        except ReleaseError:
            continue
        known_gates[name] = state
    return known_gates


def _read_policy(file: str, release: Release) -> Configuration:
    content = read_file(file)
    if is_policy_text(content):
        raise CommandError(f"--policy {file}: is a Policy; kschedweb explain --snapshot reads those")
    try:
        try:
            content = unpack_config_map(text_of(content)).encode()
        except ConfigMapError as error:
            raise CommandError(f"--policy {file}: {error}") from None
        loaded = load(read_document(content), release)
    except ReadError as error:
        raise CommandError(f"--policy {file}: {error}") from None
    if loaded.configuration is None:
        raise CommandError(f"--policy {file}: {'; '.join(loaded.errors)}")
    return loaded.configuration
