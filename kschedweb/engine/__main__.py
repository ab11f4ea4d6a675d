"""The engine's command line.

python -m kschedweb.engine explain [--mode each|sequence] [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine schedule [--summary] [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine condition [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine validate [--release 1.37] [--feature-gates VolumeLimitScaling=false] < config.yaml
python -m kschedweb.engine validate --file /etc/kubernetes/policy.yaml=policy.yaml < config.yaml
python -m kschedweb.engine convert [--classic '{"version": "1.9"}'] [--release 1.37] < policy.yaml
python -m kschedweb.engine deschedule [--runs 8] [--shuffles 8] < scenarios.jsonl (docs/rebalancing.md)
python -m kschedweb.engine autoscale [--runs 8] < scenarios.jsonl (docs/autoscaling.md)
python -m kschedweb.engine queue < scenarios.jsonl
python -m kschedweb.engine plan < scenarios.jsonl (docs/planner.md)
python -m kschedweb.engine recommend < histories.jsonl (docs/right-sizing.md)
python -m kschedweb.engine --version
python -m kschedweb.engine gate --policy policy.yaml --snapshot cluster.json [--max-moved 10%] … (docs/gate.md)

The release is the scenario's own ("release", "featureGates") where it names one, else --release, else 1.37.
A scenario marked "classic" is answered by kube-scheduler 1.13's predicates and priorities (docs/classic.md).
Extenders are asked over HTTP only with --extenders; without it a decision that they have a say in is not made up.
Bad input ends it with status 2 and one line on stderr that says where. What an API server would refuse, such as an
unknown operator, but kube-scheduler runs with when it is given, is run with here too, and said on stderr in its words.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType

from kschedweb.build import describe_product
from kschedweb.engine.commands.lines import InputError, write_remark
from kschedweb.engine.garbage import paused_collector

# Only the module of the command that is asked for is imported: what all of them run takes most of a second to import.
COMMANDS = {
    "explain": "every verdict and score for each pending pod of each scenario",
    "schedule": "the whole cycle for each pending pod, in order",
    "condition": "the node of each pending pod, or the whole message of its condition and the nominated node",
    "validate": "a KubeSchedulerConfiguration or DynamicSchedulerPolicy, defaulted, or its errors",
    "convert": "a v1 Policy, or a configuration before v1, as a KubeSchedulerConfiguration v1, with notes",
    "recommend": "what containers should request, as the vertical pod autoscaler says",
    "plan": "the fewest moves of pods that reach an objective in each scenario",
    "gate": "whether a policy may ship: its run on a cluster, held against a baseline's and thresholds",
    "deschedule": "which pods the descheduler would evict in each scenario",
    "queue": "which workloads Kueue admits and evicts in each scenario, cycle by cycle",
    "autoscale": "which nodes Karpenter would launch and consolidate in each scenario",
}


def main(arguments: Sequence[str] | None = None) -> int:
    argv = sys.argv[1:] if arguments is None else arguments
    # A gate runs for minutes, and leaves garbage; the others are done before they leave much.
    with nullcontext() if argv[:1] == ["gate"] else paused_collector():
        return run_command(argv)


def run_command(argv: Sequence[str]) -> int:
    """Run the command of ``argv``; its exit status."""
    options = build_parser(argv).parse_args(argv)
    try:
        return int(_load_command(options.command).answer(options))
    except (InputError, UnicodeDecodeError) as error:
        write_remark(str(error))
        return 2
    except BrokenPipeError:
        # Whoever read the answers has seen enough; nothing must be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, that of ``argv`` with its options."""
    root_parser = argparse.ArgumentParser(
        prog="python -m kschedweb.engine",
        description="kube-scheduler's decisions.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the line of --version stays one
    )
    root_parser.add_argument("--version", action="version", version=describe_product())
    commands = root_parser.add_subparsers(dest="command", required=True)
    for name, says in COMMANDS.items():
        command = commands.add_parser(name, help=says)
        if argv[:1] == [name]:
            _load_command(name).configure(command)
    return root_parser


def _load_command(command: str) -> ModuleType:
    return import_module(f"kschedweb.engine.commands.{command}")


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # to take apart what is in memory takes a tenth of the time of an answer, and does nobody good
