"""The part that several commands share: the server, the cluster, saved policies by name, files."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.kubeconfig import KubeContext, load_context
from kschedweb.cli.settings import CliSettings, load_settings
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.cli.rest import RestCalls

# Seconds between two looks at a job.
PAUSE = 1.0
# Seconds to wait for a job by default.
PATIENCE = 600.0
MOST_CLUSTERS = 5_000
NOT_UNDERSTOOD = "the server's answer lacks what this program reads: is it kschedweb, and of about this release?"
POLICY = re.compile(r"(?P<name>.+)@(?P<revision>[1-9][0-9]{0,8})")
PODS = ("pod", "pods", "po")


@dataclass(frozen=True)
class CliSession:
    """The environment of one command."""

    environment: Mapping[str, str]
    # True if kubectl started it, whose context then counts.
    plugin: bool = False
    # Seconds to wait for a job of the server, where no option says it.
    patience: float = PATIENCE

    @cached_property
    def settings(self) -> CliSettings:
        return load_settings(self.environment)

    @cached_property
    def server(self) -> RestCalls:
        from kschedweb.cli.rest import Server

        return Server(self.settings)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Report a server whose answers have another form than this program reads: it may be anything."""
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            # Without a call to the server, the error is a bug of this program.
            if "server" not in vars(self):
                raise
            raise CommandError(NOT_UNDERSTOOD, Exit.UNREACHABLE) from error

    def find_kube_context(self, options: argparse.Namespace) -> KubeContext | None:
        """Return kubectl's context, None if it does not count."""
        name = getattr(options, "context", "")
        return load_context(self.environment, name) if self.plugin or name else None

    def resolve_cluster(self, options: argparse.Namespace) -> str:
        """Return the name by which the site knows the cluster. Raise CommandError."""
        if options.cluster:
            return str(options.cluster)
        if (kube_context := self.find_kube_context(options)) is not None:
            return self._find_cluster_of_context(kube_context)
        if self.settings.cluster:
            return self.settings.cluster
        raise CommandError("no cluster: name one with --cluster, or set KSCHEDWEB_CLUSTER")

    def _find_cluster_of_context(self, kube_context: KubeContext) -> str:
        """Find the cluster by the address of the API server, else by the name of the context or of its cluster."""
        clusters = self.server.get_list("clusters", max_results=MOST_CLUSTERS)
        for cluster in clusters:
            if kube_context.server and _parse_address(cluster["server"]) == _parse_address(kube_context.server):
                return str(cluster["name"])
        names = {cluster["name"] for cluster in clusters}
        for name in (kube_context.name, kube_context.cluster):
            if name in names:
                return name
        raise CommandError(
            f"the site knows no cluster of context {kube_context.name} ({kube_context.server}): name a --cluster"
        )

    def resolve_namespace(self, options: argparse.Namespace) -> str:
        if options.namespace:
            return str(options.namespace)
        kube_context = self.find_kube_context(options)
        return (kube_context.namespace if kube_context else "") or "default"

    def parse_pod(self, text: str, options: argparse.Namespace) -> tuple[str, str]:
        """Return (namespace, name) of ``web-1``, ``pod/web-1`` or ``shop/web-1``. Raise CommandError."""
        before, slash, name = text.rpartition("/")
        if not name or before.count("/"):
            raise CommandError(f"{text}: must be a pod, such as web-1, pod/web-1 or shop/web-1")
        if not slash or before in PODS:
            return self.resolve_namespace(options), name
        return before, name


def add_cluster_options(parser: argparse.ArgumentParser, *, namespace: bool = False) -> None:
    """Add the options for cluster and namespace."""
    parser.add_argument("--cluster", metavar="NAME", default="", help="as the site calls it")
    parser.add_argument("--context", metavar="NAME", default="", help="a context of kubectl, which names the cluster")
    if namespace:
        parser.add_argument("-n", "--namespace", metavar="NAME", default="", help="of the pod; default without it")


def add_wait_option(parser: argparse.ArgumentParser) -> None:
    help_text = f"how long to wait for a job of the server; {PATIENCE:,.0f} without it"
    parser.add_argument("--wait", type=_seconds, metavar="SECONDS", default=PATIENCE, help=help_text)


def wait_for_result(poll: Callable[[], Any], seconds: float) -> Any:
    """Return the first result of ``poll`` that is not None. Raise CommandError after ``seconds``."""
    end = time.monotonic() + seconds
    while (result := poll()) is None:
        if time.monotonic() >= end:
            raise CommandError(f"no answer within {seconds:,.0f} s: wait longer with --wait", Exit.UNREACHABLE)
        time.sleep(PAUSE)
    return result


def parse_policy_reference(text: str) -> Json:
    """Return a saved policy, ``name`` or ``name@revision``, in REST's form."""
    match = POLICY.fullmatch(text)
    return {"name": match["name"], "revision": int(match["revision"])} if match else {"name": text}


def is_file(text: str) -> bool:
    """Return whether ``text`` means a file, not a saved policy: it has a folder or an ending, or exists."""
    return "/" in text or text.endswith((".yaml", ".yml", ".json")) or Path(text).is_file()


def read_file(file: str) -> bytes:
    """Return the content of a file. Raise CommandError if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise CommandError(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _parse_address(address: str) -> tuple[str, int | None]:
    parts = urlsplit(address)
    try:
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return address, None


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 86_400:
        raise ValueError
    return seconds
