"""``open``: a site about the person's own cluster, to read, on this machine until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kschedweb.cli.exits import CommandError
from kschedweb.cli.kubeconfig import load_context
from kschedweb.cli.reading.choosing import open_source
from kschedweb.cli.reading.objects import ClusterReading, read_everything
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.reading.source import SourceOptions
from kschedweb.cli.session import CliSession

DESCRIPTION = """\
Reads your cluster by kubectl, and shows it on a site of this machine alone: every page, with the rights of a viewer.
The browser is opened. The site and what it read are gone with Ctrl-C."""
# What a cluster may not be called at the site.
FOREIGN = re.compile(r"[^a-z0-9-]+")
LONGEST = 50


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("--context", metavar="NAME", default="", help="of kubectl; the current one without it")
    parser.add_argument("--kubeconfig", metavar="FILE", default="", help="as kubectl takes it")
    parser.add_argument("--snapshot", metavar="FILE", default="", help="a dump in place of a cluster")
    parser.add_argument("--port", type=int, default=0, help="to listen on; a free one without it")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(options: argparse.Namespace, session: CliSession) -> int:
    """Run the site until it is interrupted. Raise CommandError if its packages are not installed."""
    if find_spec("django") is None:
        raise CommandError("the site needs more packages: pip install 'kschedweb[site]'")
    with tempfile.TemporaryDirectory(prefix="kschedweb-open-") as folder:
        if options.snapshot:
            dump, version = Path(options.snapshot).resolve(), ""
        else:
            reading = _read(options)
            dump, version = Path(folder) / "cluster.json", reading.version
            with dump.open("w", encoding="utf-8") as file:
                json.dump({"apiVersion": "v1", "kind": "List", "items": reading.objects}, file)
        words = [str(dump), _name_cluster(options, session), f"--port={options.port}", f"--version={version}"]
        words += ["--no-browser"] if options.no_browser else []
        data = Path(folder) / "data"
        environment = {**os.environ, "KSCHEDWEB_DATA_DIR": str(data), "KSCHEDWEB_SANDBOX": "false"}
        command = [sys.executable, "-m", "kschedweb.loopback", *words]
        # SIGTERM ends the site as Ctrl-C does, which shells have what they start in the background ignore. The site has
        # a session of its own, so that each reaches it once, from here.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        with subprocess.Popen(command, env=environment, start_new_session=True) as site:  # noqa: S603
            try:
                site.wait()
            except KeyboardInterrupt:
                site.send_signal(signal.SIGINT)
                site.wait()
        return site.returncode


def _read(options: argparse.Namespace) -> ClusterReading:
    progress = StepWriter()
    reading = read_everything(open_source(SourceOptions(options.kubeconfig, options.context)), progress)
    for gap in reading.gaps:
        sys.stderr.write(f"Note: {gap}.\n")
    return reading


def _name_cluster(options: argparse.Namespace, session: CliSession) -> str:
    """Return the name of the context in the form of the site's names."""
    name = Path(options.snapshot).name.partition(".")[0] if options.snapshot else options.context
    if not name:
        environment = {**session.environment, **({"KUBECONFIG": options.kubeconfig} if options.kubeconfig else {})}
        with contextlib.suppress(CommandError):
            name = load_context(environment).name
    return FOREIGN.sub("-", name.lower()).strip("-")[:LONGEST] or "cluster"
