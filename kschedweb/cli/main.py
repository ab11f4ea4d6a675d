"""The entry points: ``kschedweb``, ``kubectl-ksched``, and what kubectl asks for completion of the latter."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from kschedweb.build import product
from kschedweb.cli import mcp, output
from kschedweb.cli.asked import Surroundings
from kschedweb.cli.commands import approvals, clusters, compare, explain, gate, runs
from kschedweb.cli.completion import SHELLS, candidates
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate.command import said

PROGRAM, PLUGIN = "kschedweb", "kubectl-ksched"
COMMANDS: Mapping[str, ModuleType] = {
    "explain": explain,
    "gate": gate,
    "compare": compare,
    "runs": runs,
    "approvals": approvals,
    "clusters": clusters,
    "mcp": mcp,
}
EPILOG = """\
The server's address and token are read from KSCHEDWEB_URL and KSCHEDWEB_TOKEN, or from ~/.config/kschedweb/config.yaml.
Exit status: 0 done, 1 the answer is no, 2 wrong input, 3 refused by the server, 4 no answer. See docs/automating.md."""
NO_FILES = ":4"  # what kubectl calls ShellCompDirectiveNoFileComp; ":0" lets the shell offer files


@np.errstate(over="ignore")  # amounts wrap around without a word, as they do in kube-scheduler
def main(arguments: Sequence[str] | None = None, program: str = "") -> int:
    """Run one command; the exit status is one of ``Exit``."""
    name = program or Path(sys.argv[0]).name
    plugin = name.startswith(PLUGIN)
    called = "kubectl ksched" if plugin else PROGRAM
    given = list(sys.argv[1:] if arguments is None else arguments)
    parsing = parser(called)
    if given[:1] == ["__complete"]:
        output.raw("".join(f"{one}\n" for one in candidates(parsing, given[1:])))
        return Exit.DONE
    options = parsing.parse_args(given)
    try:
        return _done(options, Surroundings(os.environ, plugin))
    except CommandError as error:
        output.say(called, str(error))
        return error.status
    except BrokenPipeError:
        # Whoever read the answers has seen enough; nothing must be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except KeyboardInterrupt:
        return 130


def _done(options: argparse.Namespace, around: Surroundings) -> int:
    """Raises CommandError."""
    if options.command == "completion":
        output.raw(SHELLS[options.shell])
        return Exit.DONE
    try:
        return int(COMMANDS[options.command].run(options, around))
    except DocumentError as error:
        raise CommandError(said(error)) from None


def plugin() -> int:
    """``kubectl ksched``: the current context and namespace of kubectl are meant."""
    return main(program=PLUGIN)


def kubectl_completion() -> int:
    """``kubectl_complete-ksched``, which kubectl runs for words after ``kubectl ksched``."""
    found = candidates(parser("kubectl ksched"), sys.argv[1:])
    output.raw("".join(f"{one}\n" for one in [*found, NO_FILES if found else ":0"]))
    return Exit.DONE


def parser(called: str = PROGRAM) -> argparse.ArgumentParser:
    """All commands with their options."""
    made = argparse.ArgumentParser(
        prog=called,
        description="What kube-scheduler decides, and why: asked of a kschedweb server, or of files alone.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=product(", ".join(RELEASES)))
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        one = commands.add_parser(name, help=module.HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
        one.add_argument("-o", "--output", choices=output.FORMS, default=output.TABLE, help="table without it")
        module.configure(one)
    completing = commands.add_parser("completion", help="a script for the completion of commands in a shell")
    completing.add_argument("shell", choices=tuple(SHELLS))
    return made
