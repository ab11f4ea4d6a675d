"""The entry points ``kschedweb`` and ``kubectl-ksched``, and the program with which kubectl completes the latter."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from kschedweb.build import describe_product
from kschedweb.cli import output
from kschedweb.cli.completion import SHELLS, complete_words
from kschedweb.cli.exits import CommandError, Exit

PROGRAM, PLUGIN = "kschedweb", "kubectl-ksched"
# Only the module of the command that is asked for is imported: the engine alone takes a second.
COMMANDS = {
    "why": ("kschedweb.cli.commands.why", "why a pod of your cluster runs where it does, or nowhere, and what helps"),
    "pending": ("kschedweb.cli.commands.pending", "all pending pods of your cluster by cause, each with its fixes"),
    "fit": ("kschedweb.cli.commands.fit", "how many pods of a manifest fit into your cluster, and what would help"),
    "node": ("kschedweb.cli.commands.node", "why a node of your cluster is as full as it is"),
    "open": ("kschedweb.cli.commands.open", "your cluster on a site of this machine, to read, until Ctrl-C"),
    "explain": ("kschedweb.cli.commands.explain", "why a pod goes where it goes: every verdict and score"),
    "queue": ("kschedweb.cli.commands.queue", "why a workload waits for quota, and when it gets it"),
    "gate": ("kschedweb.cli.commands.gate", "whether a policy may ship, by thresholds"),
    "compare": ("kschedweb.cli.commands.compare", "what policies make of the same cluster or scenario"),
    "runs": ("kschedweb.cli.commands.runs", "scenarios played under policies: list, show, start"),
    "approvals": ("kschedweb.cli.commands.approvals", "pods that wait for people: list, approve, deny"),
    "clusters": ("kschedweb.cli.commands.clusters", "the clusters that the site knows"),
    "serve": ("kschedweb.cli.commands.serve", "the site on this machine, for one person"),
    "mcp": ("kschedweb.cli.mcp", "tools for language models over MCP; they only read"),
}
EPILOG = """\
why, pending, fit, node and open read your cluster by kubectl, and need no server. For all others the server's address
and token are read from KSCHEDWEB_URL and KSCHEDWEB_TOKEN, or from ~/.config/kschedweb/config.yaml.
Exit status: 0 done, 1 the answer is no, 2 wrong input, 3 refused, 4 no answer. See docs/automating.md."""
# cobra's ShellCompDirectiveNoFileComp; ":0" lets the shell offer files.
NO_FILES = ":4"


def main(arguments: Sequence[str] | None = None, program: str = "") -> int:
    """Run one command, and return one of ``Exit``."""
    name = program or Path(sys.argv[0]).name
    plugin = name.startswith(PLUGIN)
    program_name = "kubectl ksched" if plugin else PROGRAM
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv[:1] == ["__complete"]:
        output.write_raw(
            "".join(f"{candidate}\n" for candidate in complete_words(build_parser(program_name, argv[1:]), argv[1:]))
        )
        return Exit.OK
    options = build_parser(program_name, argv).parse_args(argv)
    try:
        return _run_command(options, plugin)
    except CommandError as error:
        output.write_error(program_name, str(error))
        return error.status
    except BrokenPipeError:
        # The reader has seen enough; nothing must be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        # As shells report SIGINT: 128 + 2.
        return 130


class _CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all other errors."""

    def error(self, message: str) -> NoReturn:
        output.write_error(self.prog, f"{message} (--help tells the options)")
        raise SystemExit(Exit.WRONG)


class _Version(argparse.Action):
    """Prints the version, with the releases of kube-scheduler that the engine knows."""

    def __call__(self, *_: object, **__: object) -> None:
        output.write_raw(describe_product() + "\n")
        raise SystemExit(Exit.OK)


def _run_command(options: argparse.Namespace, plugin: bool) -> int:
    """Run the chosen command. Raise CommandError."""
    if options.command == "completion":
        output.write_raw(SHELLS[options.shell])
        return Exit.OK
    from kschedweb.cli.session import CliSession

    session = CliSession(os.environ, plugin)
    run = import_module(COMMANDS[options.command][0]).run
    with session.translate_errors():
        return int(run(options, session))


def plugin() -> int:
    """Run ``kubectl ksched``, which uses the current context and namespace of kubectl."""
    return main(program=PLUGIN)


def kubectl_completion() -> int:
    """Run ``kubectl_complete-ksched``, which kubectl calls for words after ``kubectl ksched``."""
    completions = complete_words(build_parser("kubectl ksched", sys.argv[1:]), sys.argv[1:])
    output.write_raw("".join(f"{candidate}\n" for candidate in [*completions, NO_FILES if completions else ":0"]))
    return Exit.OK


def build_parser(program_name: str, argv: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser of all commands; only the command in ``argv`` gets its options."""
    main_parser = _CommandParser(
        prog=program_name,
        description="What kube-scheduler decides, and why: in your cluster, in a dump of one, or on a server.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    main_parser.add_argument(
        "--version", action=_Version, nargs=0, help="of this program, and which releases it answers for"
    )
    commands = main_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, help_text) in COMMANDS.items():
        command_parser = commands.add_parser(name, help=help_text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if argv[:1] == [name]:
            output.add_output_option(command_parser, output.TABLE)
            import_module(module).configure(command_parser)
    completing = commands.add_parser("completion", help="a script for the completion of commands in a shell")
    completing.add_argument("shell", choices=tuple(SHELLS))
    return main_parser
