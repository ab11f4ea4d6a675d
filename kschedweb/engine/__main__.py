"""The engine's command line.

python -m kschedweb.engine explain [--mode each|sequence] [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine schedule [--summary] [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine condition [--extenders] [--release 1.37] < scenarios.jsonl
python -m kschedweb.engine validate [--release 1.37] [--feature-gates VolumeLimitScaling=false] < config.yaml
python -m kschedweb.engine validate --file /etc/kubernetes/policy.yaml=policy.yaml < config.yaml
python -m kschedweb.engine convert [--classic '{"version": "1.9"}'] [--release 1.37] < policy.yaml
python -m kschedweb.engine deschedule [--runs 8] [--shuffles 8] < scenarios.jsonl (docs/rebalancing.md)
python -m kschedweb.engine autoscale [--runs 8] < scenarios.jsonl (docs/autoscaling.md)
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
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from kschedweb.build import product
from kschedweb.engine.autoscaling import scenario as autoscaling
from kschedweb.engine.autoscaling.scenario import AutoscalingError
from kschedweb.engine.config import Release
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.extenders.transport import transport
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.planning import scenario as planning
from kschedweb.engine.planning.scenario import PlanningError
from kschedweb.engine.plugins.dynamic.policyfile import is_policy_file, load_policy_file
from kschedweb.engine.rebalancing import scenario as rebalancing
from kschedweb.engine.rebalancing.scenario import DeschedulingError
from kschedweb.engine.releases import RELEASES, ReleaseError, cli_validate, read_gates, released
from kschedweb.engine.releases.classic import PolicyError, load_policy
from kschedweb.engine.releases.classic.conversion import convert
from kschedweb.engine.releases.older import load_old
from kschedweb.engine.rightsizing.scenario import recommended
from kschedweb.engine.scenario import Scenario, ScenarioError, read_name, read_text
from kschedweb.engine.scenario.classic import ClassicScenario, Registries, read_edition
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate import command as gate
from kschedweb.engine.studies.gate import files


@np.errstate(over="ignore")  # amounts wrap around without a word, as they do in kube-scheduler
def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command != "gate":
        # Nothing of a scenario refers to itself in a circle: to look for such garbage takes time and finds none.
        gc.disable()
    try:
        if options.command in ("validate", "convert"):
            text = sys.stdin.read()
            _write(_validated(text, options) if options.command == "validate" else _converted(text, options))
            return 0
        others = {
            "gate": gate.answer,
            "recommend": _recommend,
            "deschedule": _deschedule,
            "autoscale": _autoscale,
            "plan": _plan,
        }
        if (answer := others.get(options.command)) is not None:
            return answer(options)
        for line, scenario in _scenarios(options):
            for remark in scenario.remarks:
                _say(f"line {line}: {remark}")
            try:
                _write(_answer(scenario, options))
            except ScenarioError as error:
                raise ScenarioError(f"line {line}: {error}") from None
    except DocumentError as error:
        _say(gate.said(error))
        return 2
    except (PluginError, PolicyError, ScenarioError, UnicodeDecodeError) as error:
        _say(str(error))
        return 2
    except BrokenPipeError:
        # Whoever read the answers has seen enough; nothing must be written to the closed pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _write(answer: dict[str, Any]) -> None:
    print(writable(json.dumps(answer, ensure_ascii=False)), flush=True)


def _say(text: str) -> None:
    print(writable(f"kschedweb.engine: {' '.join(text.splitlines())}"), file=sys.stderr)


def writable(text: str) -> str:
    """``text`` with halves of characters, which JSON may name, escaped: no stream takes them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kschedweb.engine",
        description="kube-scheduler's decisions.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the line of --version stays one
    )
    parser.add_argument("--version", action="version", version=product(", ".join(RELEASES)))
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser("explain", help="every verdict and score for each pending pod of each scenario")
    explain.add_argument("--mode", choices=("each", "sequence"), help="in place of the scenarios' own mode")
    schedule = commands.add_parser("schedule", help="the whole cycle for each pending pod, in order")
    schedule.add_argument("--summary", action="store_true", help="throughput and latency instead of placements")
    condition = commands.add_parser(
        "condition", help="the node of each pending pod, or the whole message of its condition and the nominated node"
    )
    for command in (explain, schedule, condition):
        command.add_argument("--extenders", action="store_true", help="ask the extenders of the configurations")
        command.add_argument(
            "--one-process",
            action="store_true",
            help="what a classic policy registers holds for later ones, as in one process of the original",
        )
    validate = commands.add_parser(
        "validate", help="a KubeSchedulerConfiguration or DynamicSchedulerPolicy, defaulted, or its errors"
    )
    converting = commands.add_parser(
        "convert",
        help="a v1 Policy, or a configuration before v1, as a KubeSchedulerConfiguration v1, with notes",
    )
    for command in (explain, schedule, condition, validate, converting):
        command.add_argument("--release", help=f"the release of kube-scheduler: {', '.join(RELEASES)}")
        command.add_argument("--feature-gates", default="", help="as kube-scheduler's: Name=true,Other=false")
        files.configure(command)
    converting.add_argument(
        "--classic", default="true", help="what kube-scheduler was started with (docs/classic.md), JSON"
    )
    commands.add_parser("recommend", help="what containers should request, as the vertical pod autoscaler says")
    commands.add_parser("plan", help="the fewest moves of pods that reach an objective in each scenario")
    gate.configure(commands.add_parser("gate", help=gate.HELP))
    descheduling = commands.add_parser("deschedule", help="which pods the descheduler would evict in each scenario")
    descheduling.add_argument(
        "--runs",
        type=_counted,
        default=rebalancing.RUNS,
        help="how many cycles show whether the order of evictions is left to chance",
    )
    descheduling.add_argument(
        "--shuffles",
        type=_counted,
        default=rebalancing.SHUFFLES,
        help="how many cycles show whether the order of nodes and pods matters",
    )
    scaling = commands.add_parser(
        "autoscale", help="which nodes Karpenter would launch and consolidate in each scenario"
    )
    scaling.add_argument(
        "--runs",
        type=_counted,
        default=autoscaling.RUNS,
        help="how many runs show what is left to chance",
    )
    return parser


def _validated(text: str, options: argparse.Namespace) -> dict[str, Any]:
    release = _release(options)
    return load_policy_file(text).to_dict() if is_policy_file(text) else cli_validate(text, release)


def _release(options: argparse.Namespace) -> Release:
    """The release that is asked for; raises ScenarioError."""
    try:
        return released(options.release or "", read_gates(options.feature_gates), files.given(options.file))
    except ReleaseError as error:
        raise ScenarioError(str(error)) from None


def _counted(text: str) -> int:
    """A whole number of at least 1; raises ArgumentTypeError."""
    if not text.isdecimal() or (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be a whole number of at least 1")
    return number


def _deschedule(options: argparse.Namespace) -> int:
    """Write what the descheduler would evict in each scenario; raises ScenarioError."""
    for number, asked in _lines():
        try:
            _write(rebalancing.answer(asked, time.time, runs=options.runs, shuffles=options.shuffles))
        except DeschedulingError as error:
            raise ScenarioError(f"line {number}: {error}") from None
    return 0


def _autoscale(options: argparse.Namespace) -> int:
    """Write what Karpenter would do in each scenario; raises ScenarioError."""
    for number, asked in _lines():
        try:
            _write(autoscaling.answer(asked, time.time, runs=options.runs))
        except AutoscalingError as error:
            raise ScenarioError(f"line {number}: {error}") from None
    return 0


def _plan(_: argparse.Namespace) -> int:
    """Write the plan for each scenario; raises ScenarioError."""
    for number, asked in _lines():
        try:
            _write(planning.answer(asked, time.monotonic))
        except (PlanningError, ScenarioError) as error:
            raise ScenarioError(f"line {number}: {error}") from None
    return 0


def _lines() -> Iterator[tuple[int, dict[str, Any]]]:
    """The scenarios, one a line, with the numbers of their lines; raises ScenarioError."""
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            try:
                yield number, read_text(line)
            except ScenarioError as error:
                raise ScenarioError(f"line {number}: {error}") from None


def _scenarios(options: argparse.Namespace) -> Iterator[tuple[int, Scenario | ClassicScenario]]:
    registries: Registries = {}
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            try:
                raw = read_text(line)
                if raw.get("classic"):
                    yield number, ClassicScenario.of(raw, registries if options.one_process else {})
                else:
                    gates = read_gates(options.feature_gates)
                    asked = {"release": options.release, "featureGates": gates, "files": files.given(options.file)}
                    yield number, Scenario.of({**asked, **raw})
            except (ReleaseError, ScenarioError) as error:
                raise ScenarioError(f"line {number}: {error}") from None


def _recommend(_: argparse.Namespace) -> int:
    """Answer each usage history; raises ScenarioError."""
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            try:
                raw = read_text(line)
                name = read_name(raw)
                _write(recommended(raw))
            except ObjectError as error:
                raise ScenarioError(f"line {number}: {name}: {error}" if name else f"line {number}: {error}") from None
            except ScenarioError as error:
                raise ScenarioError(f"line {number}: {error}") from None
    return 0


def _converted(text: str, options: argparse.Namespace) -> dict[str, Any]:
    """The profile for the Policy or the old configuration in ``text``, or for the default provider.

    Raises ScenarioError, PolicyError.
    """
    try:
        given = json.loads(options.classic)
    except ValueError as error:
        raise ScenarioError(f"--classic: is not JSON: {error}") from None
    edition, release = read_edition(given), _release(options)
    if not text.strip():
        return convert(None, edition, release).to_dict()
    if (old := load_old(text, release)) is not None:
        if old.conversion is None or old.errors:
            raise ScenarioError("; ".join(old.errors))
        return old.conversion.to_dict()
    loaded = load_policy(text)
    if loaded.policy is None:
        raise ScenarioError("; ".join(loaded.errors))
    warnings = [f"{one.path}: {one.text}" for one in loaded.warnings]
    return convert(loaded.policy, edition, release).to_dict() | ({"warnings": warnings} if warnings else {})


def _answer(scenario: Scenario | ClassicScenario, options: argparse.Namespace) -> dict[str, Any]:
    post = None
    if options.extenders:
        post = transport(scenario.extenders)
    if options.command == "explain":
        answer = scenario.explain(options.mode, post)
    elif options.command == "condition":
        answer = scenario.describe_conditions(post)
    elif options.summary:
        answer = scenario.summary(time.perf_counter, post)
    else:
        answer = scenario.schedule(post)
    return {**answer, "engine": scenario.engine}


if __name__ == "__main__":
    sys.exit(main())
