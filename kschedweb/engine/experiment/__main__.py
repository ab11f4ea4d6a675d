"""The experiment's command line.

python -m kschedweb.engine.experiment run use.csv.gz --seeds 1 2 3 [--policies default water-level future]
python -m kschedweb.engine.experiment run use.csv.gz --policy mine=mine.yaml --release mine=1.36
python -m kschedweb.engine.experiment run tuesday.csv.gz --before monday.csv.gz --policies default water-level tidal
python -m kschedweb.engine.experiment run use.csv.gz --policies default water-level --moves-an-hour 0 0.5 2
python -m kschedweb.engine.experiment curve moves-monday.json moves-tuesday.json > moves.svg
python -m kschedweb.engine.experiment search use.csv.gz --seeds 11 12 --journal FILE
python -m kschedweb.engine.experiment bounds use.csv.gz --seeds 1 2 3

A recording is a CSV file, packed or not: a row a machine, its name and a percentage for each five minutes. The answer
is JSON on stdout; --csv writes the skew over time of every run. Bad input ends it with status 2 and one line on stderr.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kschedweb.engine.experiment import report
from kschedweb.engine.experiment.curve import CurveError, SkewCurve, render_curves
from kschedweb.engine.experiment.moving import DEFAULT_INTERVAL, Moving, MovingError
from kschedweb.engine.experiment.policies import (
    DEFAULT,
    FUTURE,
    PolicyError,
    PolicyFile,
    list_policies,
    load_configuration,
)
from kschedweb.engine.experiment.replay import replay_workload
from kschedweb.engine.experiment.report import ExperimentRun
from kschedweb.engine.experiment.search import FoundCandidate, search_weights
from kschedweb.engine.experiment.workload import ExperimentWorkload, Setup, SetupError
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.results import PlanError
from kschedweb.engine.releases import ReleaseError, read_gates
from kschedweb.engine.simulation import SimulationError
from kschedweb.engine.simulation.recording import RecordingError, UseRecording


class InputError(ValueError):
    """An input that cannot be used; the message says why."""


def main(arguments: list[str] | None = None) -> int:
    options = _create_parser().parse_args(arguments)
    try:
        if options.command == "curve":
            print(_draw_curve(options), end="")
            return 0
        answer = {"run": _run_policies, "search": _run_search, "bounds": _run_bounds}[options.command](options)
    except (
        CurveError,
        InputError,
        MovingError,
        PlanError,
        RecordingError,
        SetupError,
        PolicyError,
        SimulationError,
        UnicodeDecodeError,
    ) as error:
        print(f"kschedweb.engine.experiment: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    print(json.dumps(answer, indent=1))
    return 0


def _create_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kschedweb.engine.experiment", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="policies side by side")
    run.add_argument("--policies", nargs="+", metavar="NAME", help=f"some of {', '.join([*list_policies(0), FUTURE])}")
    run.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a configuration of your own; without --policies only those are run",
    )
    run.add_argument(
        "--release", action="append", default=[], metavar="NAME=RELEASE", help="the kube-scheduler of such a policy"
    )
    run.add_argument(
        "--feature-gates", action="append", default=[], metavar="NAME=GATES", help="such as mine=GangScheduling=true"
    )
    run.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="NAME=PATH=FILE",
        help="a file that arguments of such a policy point at: the path as they write it, and where it is",
    )
    run.add_argument(
        "--moves-an-hour",
        nargs="+",
        type=float,
        metavar="PERCENT",
        help="also move at most so many percent of the running pods an hour, by the planner of moves",
    )
    run.add_argument(
        "--moves-every", type=float, default=DEFAULT_INTERVAL, metavar="SECONDS", help="how often moves are planned"
    )
    run.add_argument("--csv", type=Path, help="write the skew over time here")
    search = commands.add_parser("search", help="look for weights of HheWaterLevelBalance")
    search.add_argument("--generations", type=int, default=8)
    search.add_argument("--size", type=int, default=12, help="candidates a generation")
    search.add_argument("--search-seed", type=int, default=1)
    search.add_argument("--journal", type=Path, help="costs are written here, and read again by the next search")
    commands.add_parser("bounds", help="what keeps the skew up: what is left where one thing is taken away")
    recording_commands = list(commands.choices.values())
    curve = commands.add_parser("curve", help="skew against moves an hour, as SVG")
    curve.add_argument("answers", nargs="+", type=Path, help="what run wrote with --moves-an-hour")
    for command in recording_commands:
        command.add_argument("recording", type=Path, help="a CSV file, also gzipped: name, percentages")
        command.add_argument(
            "--before",
            type=Path,
            metavar="RECORDING",
            help="what was recorded the day before: it runs first, and is not measured",
        )
        command.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
        command.add_argument("--setup", type=json.loads, default={}, metavar="JSON", help="other values of the set-up")
        command.add_argument("--processes", type=int, default=1)
    return parser


def _load_recording(options: argparse.Namespace) -> tuple[UseRecording, Setup]:
    """Return the recording and its set-up; after a day before, measures begin where that day ends."""
    if not isinstance(options.setup, dict):
        raise SetupError("must be a JSON object")
    recording = _read_recording(options.recording)
    if options.before is None:
        return recording, Setup.from_values(options.setup)
    before = _read_recording(options.before)
    return recording.join_after(before), Setup.from_values({"since": before.seconds, **options.setup})


def _read_recording(path: Path) -> UseRecording:
    try:
        return UseRecording.from_file_bytes(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except RecordingError as error:
        raise InputError(f"{path}: {error}") from None


def _create_workloads(options: argparse.Namespace) -> list[ExperimentWorkload]:
    recording, setup = _load_recording(options)
    return [ExperimentWorkload(recording, seed, setup) for seed in options.seeds]


@contextmanager
def _parallel_map(processes: int) -> Iterator[Any]:
    """Yield a ``map`` over that many processes."""
    if processes < 2:
        yield map
        return
    with ProcessPoolExecutor(processes) as pool:
        yield pool.map


def _choose_policies(options: argparse.Namespace, nodes: int) -> dict[str, PolicyFile | Json | None]:
    available: dict[str, Json | None] = {**list_policies(nodes), FUTURE: None}
    names = options.policies or ([] if options.policy else list(available))
    unknown = [name for name in names if name not in available]
    if unknown:
        raise InputError(f"--policies: {unknown[0]} is not known; known are {', '.join(available)}")
    return {**{name: available[name] for name in names}, **_read_policies(options)}


def _read_policies(options: argparse.Namespace) -> dict[str, PolicyFile]:
    """Return the policies of files, each with its release, feature gates and further files."""
    texts = {
        name: _read_text(f"--policy {name}", file) for name, _, file in (text.partition("=") for text in options.policy)
    }
    releases = _split_by_policy("--release", options.release, texts)
    gates = _split_by_policy("--feature-gates", options.feature_gates, texts)
    files = _split_by_policy("--file", options.file, texts)
    policies = {}
    for name, text in texts.items():
        try:
            switched = read_gates(",".join(gates[name]))
        except ReleaseError as error:
            raise InputError(f"--feature-gates {name}: {error}") from None
        pointed = (entry.partition("=") for entry in files[name])
        read_files = {path: _read_text(f"--file {name}", file) for path, _, file in pointed}
        policies[name] = PolicyFile(text, releases[name][-1] if releases[name] else "", switched, read_files)
    return policies


def _split_by_policy(option: str, entries: Sequence[str], policies: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of NAME=VALUE by policy."""
    by_policy: dict[str, list[str]] = {name: [] for name in policies}
    for entry in entries:
        name, _, value = entry.partition("=")
        if name not in by_policy:
            raise InputError(f"{option}: there is no --policy {name}")
        by_policy[name].append(value)
    return by_policy


def _read_text(option: str, file: str) -> str:
    try:
        return Path(file).read_text()
    except OSError as error:
        raise InputError(f"{option}: {file}: {error.strerror}") from None


def _run_policies(options: argparse.Namespace) -> Json:
    workloads = _create_workloads(options)
    chosen = _choose_policies(options, workloads[0].setup.nodes)
    for name, policy in chosen.items():
        if policy is not None:
            report.check_policy(name, policy)
    movings = [Moving(percent, options.moves_every) for percent in options.moves_an_hour or ()]
    for moving in movings:
        moving.check_interval(workloads[0].setup.interval)
    tasks = [
        (workload, name, policy, moving)
        for workload in workloads
        for name, policy in chosen.items()
        # All others are compared with the default profile, so it runs without moves; the future cannot plan any.
        for moving in (movings if name not in (DEFAULT, FUTURE) and movings else [None])
    ]
    with _parallel_map(options.processes) as parallel_map:
        runs = _collect_runs(parallel_map(report.run_moved, tasks))
    if options.csv:
        _write_csv(options.csv, runs)
    return report.compare_runs(workloads[0].setup, runs)


def _collect_runs(runs: Iterable[ExperimentRun]) -> list[ExperimentRun]:
    """Collect the runs, and report each on stderr when it is done."""
    collected = []
    for run in runs:
        print(f"seed {run.seed}, {run.name}: {run.outcome.balance.skew:.1f} points", file=sys.stderr, flush=True)
        collected.append(run)
    return collected


def _write_csv(path: Path, runs: Sequence[ExperimentRun]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["policy", "seed", "hours", "skew", "mean", "lowest", "highest"])
        writer.writerows(row for run in runs for row in run.iterate_rows())


def _draw_curve(options: argparse.Namespace) -> str:
    curves = []
    for path in options.answers:
        try:
            answer = json.loads(path.read_text())
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        except ValueError as error:  # Also for text that is not UTF-8.
            raise InputError(f"{path}: is not JSON: {error}") from None
        curves.append(SkewCurve.from_answer(path.stem.removeprefix("moves-"), answer))
    return render_curves(curves)


def _run_bounds(options: argparse.Namespace) -> Json:
    workloads = _create_workloads(options)
    tasks = [(workload, name) for workload in workloads for name in report.BOUNDS]
    with _parallel_map(options.processes) as parallel_map:
        runs = _collect_runs(parallel_map(report.run_bound, tasks))
    return report.compare_runs(workloads[0].setup, runs)


# The search.


def _compute_skews(workloads: Sequence[ExperimentWorkload], document: Json) -> list[float]:
    return [replay_workload(workload, load_configuration(document)).balance.skew for workload in workloads]


def _run_search(options: argparse.Namespace) -> Json:
    workloads = _create_workloads(options)
    base = _compute_skews(workloads, list_policies(workloads[0].setup.nodes)["default"])
    known_costs = _read_journal(options.journal)

    def report_candidate(candidate: FoundCandidate) -> None:
        print(
            f"generation {candidate.generation}: {candidate.cost:.3f} of the default profile",
            file=sys.stderr,
            flush=True,
        )

    with _parallel_map(options.processes) as parallel_map:

        def evaluate_documents(documents: Sequence[Json]) -> list[float]:
            skews = parallel_map(partial(_compute_skews, workloads), documents)
            costs = []
            for document, document_skews in zip(documents, skews, strict=True):
                ratios = [skew / base_skew for skew, base_skew in zip(document_skews, base, strict=True)]
                costs.append(sum(ratios) / len(ratios))
                _append_journal(options.journal, document, costs[-1])
            return costs

        candidates = search_weights(
            evaluate_documents,
            seed=options.search_seed,
            generations=options.generations,
            size=options.size,
            known_costs=known_costs,
            on_candidate=report_candidate,
        )
    return report.search_result(workloads[0].setup, options.seeds, base, candidates)


def _read_journal(path: Path | None) -> list[tuple[Json, float]]:
    """Return the entries of earlier searches; a last line that was cut off is left out."""
    if path is None or not path.exists():
        return []
    entries = []
    for line in path.read_text().split("\n"):
        try:
            entry = json.loads(line)
            entries.append((entry["document"], float(entry["cost"])))
        except (ValueError, KeyError, TypeError):
            continue
    return entries


def _append_journal(path: Path | None, document: Json, cost: float) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"cost": cost, "document": document}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
