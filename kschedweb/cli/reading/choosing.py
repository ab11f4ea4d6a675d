"""Chooses how a cluster is read."""

from __future__ import annotations

from kschedweb.cli.exits import CommandError
from kschedweb.cli.reading.client import ClientSource, is_installed
from kschedweb.cli.reading.kubectl import KubectlSource, find_kubectl
from kschedweb.cli.reading.source import ClusterSource, SourceOptions


def open_source(options: SourceOptions) -> ClusterSource:
    """Return the person's kubectl, else the ``kubernetes`` package. Raises CommandError if there is neither."""
    if program := find_kubectl():
        return KubectlSource(program, options)
    if is_installed():
        return ClientSource(options)
    raise CommandError(
        "there is no kubectl: install it, or pip install kubernetes, or give a dump with --snapshot (docs/terminal.md)"
    )
