"""The command ``gate``: judge a policy file on a dump of a cluster, and exit with a status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.documents.configmaps import ConfigMapError, unpack_config_map
from kschedweb.engine.documents.files import ReadError, read_document, read_documents
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.pricing import price_table
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.releases import ReleaseError, files, get_release, list_releases, read_gates
from kschedweb.engine.releases.classic import classic_release, edition_of
from kschedweb.engine.releases.classic.policy import is_policy_text
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.document.scenario_files import ScenarioFile, read_scenario_file, to_scenario_error
from kschedweb.engine.studies.gate import gate, rendering, thresholds
from kschedweb.engine.studies.gate.thresholds import Thresholds
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario

DESCRIPTION = """\
Places the pods of a cluster under a policy and under a baseline, compares, and judges by thresholds. The exit status
is 0 where all of them are kept, 1 where one is not, and 2 where the input cannot be used; then one line on stderr says
where and why. docs/gate.md shows it in a pull request check."""
REPORT = "where the verdict goes, to stdout without it: .json, .xml (JUnit) or .md (Markdown); may be repeated"
# The site stores seeds as int32.
LARGEST_SEED = 2**31 - 1
# Formats of reports by the ending of their file.
ENDINGS = {".json": "json", ".xml": "junit", ".md": "markdown"}
# Options for thresholds, and their keys in a file.
SHORT = {
    "max_newly_unschedulable": "maxNewlyUnschedulable",
    "max_moved": "maxMoved",
    "max_pending": "maxPending",
    "max_skew_increase": "maxSkewIncrease",
    "zone_loss_priority": "zoneLossPriority",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``."""
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_question_arguments(parser)
    add = parser.add_argument
    add("--format", choices=rendering.FORMATS, help="json without it, or what the output's ending says")
    add("--output", dest="reports", action="append", default=[], metavar="FILE", help=REPORT)


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the question, without those of the output."""
    add = parser.add_argument
    add("--policy", required=True, metavar="FILE", help="the configuration or Policy that is to ship (YAML, JSON)")
    add("--baseline", metavar="FILE", help="what it is held against; without it kube-scheduler's defaults")
    released = f"the release that runs %s: {list_releases()}, of a Policy 1.13 or 1.9"
    add("--release", default="", help=released % "the policy")
    add("--baseline-release", help=f"{released % 'the baseline'}; without it the policy's")
    add("--feature-gates", default="", help="of the policy's release, as kube-scheduler's: Name=true,Other=false")
    add("--baseline-feature-gates", help="of the baseline's release; without it the policy's, where it is the same")
    files.add_file_option(parser)
    add("--snapshot", metavar="FILE", help="the cluster: kubectl get nodes,pods,… --all-namespaces -o json (or yaml)")
    add("--scenario", metavar="FILE", help="what happens there: a scenario (docs/scenarios.md), or one exported")
    add("--prices", metavar="FILE", help="what nodes of the snapshot cost: a PriceTable (docs/money.md)")
    add("--place", choices=(ALL, PENDING), help="all (default): pods with a node are placed anew; pending: they stay")
    add("--seed", type=_seed, default=1, help="of what a scenario generates at random; 1 without it")
    add("--thresholds", metavar="FILE", help="all thresholds in a file (YAML, JSON); options go before it")
    add("--max-newly-unschedulable", metavar="N", help="pods that find no node only under the policy; 0 without it")
    add("--max-moved", metavar="N", help="pods that go to another node: a number, or such as 10%%")
    add("--max-pending", metavar="N", help="pods that wait at the end")
    add("--max-skew-increase", metavar="POINTS", help="percentage points, of CPU and of memory requests at the end")
    add("--zone-loss-priority", metavar="P", help="pods from this priority on find a node after the loss of any zone")
    limit = "limits of a measure: NAME:max=40, NAME:min=3, NAME:maxChange=10%%, several with commas; may be repeated"
    add("--measure", action="append", default=[], metavar="NAME:LIMIT", help=limit)


def answer(options: argparse.Namespace) -> int:
    """Write the verdict and return the exit status. Raise DocumentError, whose paths name options."""
    # Formats are checked first, since the runs take long.
    outputs = [(Path(file), form_of(file, options.format)) for file in options.reports]
    verdict = judge_policy(options)
    plain = verdict.to_dict()
    for file, form in outputs:
        write_report(file, rendering.render_verdict(plain, form))
    if not outputs:
        text = rendering.render_verdict(plain, options.format or "json")
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
        sys.stdout.flush()
    return 0 if verdict.passed else 1


def judge_policy(options: argparse.Namespace) -> gate.GateVerdict:
    """Return the verdict on the files that the options name. Raise DocumentError, whose paths name options."""
    baseline = Path(options.baseline) if options.baseline else None
    shipped = _read_policy(options.policy, "--policy")
    baseline_policy = _read_policy(options.baseline, "--baseline") if baseline else None
    after, before = _choose_releases(options, shipped, baseline_policy)
    question = gate.GateQuestion(
        policy=gate.GatePolicy(Path(options.policy).name, shipped, after),
        baseline=gate.GatePolicy(baseline.name, baseline_policy, before)
        if baseline
        else gate.GatePolicy(gate.DEFAULTS, release=before),
        thresholds=_read_thresholds(options),
        subject=" on ".join(Path(file).name for file in (options.scenario, options.snapshot) if file),
    )
    try:
        return gate.compute_verdict(_prepare_run(options), question)
    except ScenarioError as error:
        raise _with_option_paths(error, options) from None
    except RecursionError:
        raise ScenarioError([DocumentProblem("", "an object is nested too deep")]) from None


def summarize_error(error: ScenarioError) -> str:
    """Return the first few problems on one line."""
    sentences = [str(problem) for problem in error.problems[:3]]
    more = len(error.problems) - len(sentences)
    return "; ".join(sentences) + (f"; and {more} more" if more > 0 else "")


def _read_policy(file: str, option: str) -> bytes:
    """Return the policy in ``file``, also if it is in a ConfigMap. Raise DocumentError."""
    data = _read_file(file, option)
    try:
        return unpack_config_map(data.decode()).encode()
    except UnicodeDecodeError:
        return data
    except ConfigMapError as error:
        raise ScenarioError([DocumentProblem(f"{option} {file}", str(error))]) from None


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed <= LARGEST_SEED:
        raise ValueError
    return seed


def form_of(file: str, form: str | None, option: str = "--output") -> str:
    """Return the format in which ``file`` is written. Raise DocumentError."""
    more = ", or come with --format" if option == "--output" else ""
    chosen_form = form or ENDINGS.get(Path(file).suffix.lower())
    if chosen_form is None:
        raise ScenarioError([DocumentProblem(f"{option} {file}", f"must end in {', '.join(ENDINGS)}{more}")])
    return chosen_form


def _choose_releases(options: argparse.Namespace, policy: bytes, baseline: bytes | None) -> tuple[Release, Release]:
    """Return the policy's release and the baseline's, which is the policy's by default. Raise DocumentError."""
    gates = options.baseline_feature_gates
    if gates is None:
        gates = options.feature_gates if options.baseline_release in (None, options.release) else ""
    name = options.release if options.baseline_release is None else options.baseline_release
    return (
        _load_release(policy, options.release, options.feature_gates, options.file, "--release"),
        _load_release(policy if baseline is None else baseline, name, gates, options.file, "--baseline-release"),
    )


def _load_release(document: bytes, name: str, gates: str, file_options: Sequence[str], option: str) -> Release:
    """Return the release that loads the document: a classic one (1.13 if none is named) for a Policy."""
    try:
        switched = read_gates(gates)
        if not is_policy_text(document):
            return get_release(name, switched, files.read_files(file_options))
        return classic_release(edition_of({"version": name, "gates": [gate for gate, on in switched.items() if on]}))
    except (ReleaseError, ObjectError) as error:
        raise ScenarioError([DocumentProblem(option, str(error))]) from None


def _prepare_run(options: argparse.Namespace) -> PreparedScenario:
    if not options.snapshot and not options.scenario:
        raise ScenarioError(
            [DocumentProblem("--snapshot", "is missing: name a file with the cluster, or a --scenario")]
        )
    listed = _read_snapshot(options.snapshot) if options.snapshot else []
    prices = _read_prices(options.prices)
    option = f"--{'scenario' if options.scenario else 'snapshot'}"
    try:
        if not options.scenario:
            return gate.prepared_of(listed, place=options.place or ALL, seed=options.seed, prices=prices)
        return _prepare_scenario(options, listed)
    except ScenarioError as error:
        file = options.scenario or options.snapshot
        raise ScenarioError([_of_file(problem, f"{option} {file}", option[2:]) for problem in error.problems]) from None


def _prepare_scenario(options: argparse.Namespace, listed: list[Json]) -> PreparedScenario:
    if options.place:
        raise ScenarioError([DocumentProblem("", "--place goes with a snapshot alone: the scenario says run.place")])
    if options.prices:
        raise ScenarioError([DocumentProblem("", "--prices goes with a snapshot alone: the scenario says prices")])
    try:
        scenario_file: ScenarioFile = read_scenario_file(_read_file(options.scenario, "--scenario"))
    except ReadError as error:
        raise to_scenario_error("", error) from None
    objects = listed or scenario_file.objects
    if scenario_file.document.base.snapshot is not None and not objects:
        raise ScenarioError(
            [DocumentProblem("base.snapshot", "is not in this file: name the cluster's dump with --snapshot")]
        )
    files = scenario_file.files or _ScenarioFolder(Path(options.scenario))
    now = gate.newest_time(objects) if scenario_file.now is None or listed else scenario_file.now
    return prepare_scenario(scenario_file.document, objects, files, seed=options.seed, now=now)


class _ScenarioFolder(Mapping[str, bytes]):
    """The files in the folder of a scenario, read on demand."""

    def __init__(self, scenario: Path) -> None:
        self._folder = scenario.parent

    def __getitem__(self, name: str) -> bytes:
        # A scenario must not read files of other folders.
        if name != Path(name).name or not (self._folder / name).is_file():
            raise KeyError(name)
        return (self._folder / name).read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _read_snapshot(file: str) -> list[Json]:
    try:
        return gate.read_objects(read_documents(_read_file(file, "--snapshot")))
    except ReadError as error:
        raise to_scenario_error(f"--snapshot {file}", error) from None
    except ScenarioError as error:
        raise ScenarioError(
            [_of_file(problem, f"--snapshot {file}", "snapshot") for problem in error.problems]
        ) from None


def _read_prices(file: str | None) -> PriceTable | None:
    if not file:
        return None
    try:
        return price_table.read_price_table(read_document(_read_file(file, "--prices")))
    except ReadError as error:
        raise to_scenario_error(f"--prices {file}", error) from None
    except price_table.TableError as error:
        raise ScenarioError([_of_file(problem, f"--prices {file}", "") for problem in error.problems]) from None


def _read_thresholds(options: argparse.Namespace) -> Thresholds:
    return _parse_thresholds(merge_thresholds(options), "--measure", "measures")


def merge_thresholds(options: argparse.Namespace) -> Json:
    """Return the thresholds of the file, overridden by those of options, in the form of a file. Raise DocumentError."""
    raw: Any = {}
    if options.thresholds:
        try:
            raw = read_document(_read_file(options.thresholds, "--thresholds"))
        except ReadError as error:
            raise to_scenario_error(f"--thresholds {options.thresholds}", error) from None
        if not isinstance(raw, dict):
            raise ScenarioError([DocumentProblem(f"--thresholds {options.thresholds}", "must be an object")])
        _parse_thresholds(raw, f"--thresholds {options.thresholds}")
    overrides = {
        key: thresholds.parse_number(value)
        for name, key in SHORT.items()
        if (value := getattr(options, name)) is not None
    }
    for name in SHORT:
        if (value := getattr(options, name)) is not None:
            _parse_thresholds({SHORT[name]: thresholds.parse_number(value)}, "--" + name.replace("_", "-"), SHORT[name])
    measures = dict(raw.get("measures") or {})
    for text in options.measure:
        name, limits = _parse_limits(text)
        measures[name] = {**measures.get(name, {}), **limits}
    return {**raw, **overrides, **({"measures": measures} if measures else {})}


def _parse_thresholds(raw: Json, option: str, part: str = "") -> Thresholds:
    try:
        return thresholds.read_thresholds(raw, "")
    except ScenarioError as error:
        raise ScenarioError([_of_file(problem, option, part) for problem in error.problems]) from None


def _parse_limits(text: str) -> tuple[str, Json]:
    """Parse ``skew_cpu:max=40,maxChange=10%``."""
    name, colon, limits_text = text.rpartition(":")
    parts = [part.partition("=") for part in limits_text.split(",")]
    if not colon or not name or not all(key and sign and value for key, sign, value in parts):
        hint = "write a name, a colon and limits, such as skew_cpu_end:max=40,maxChange=10%"
        raise ScenarioError([DocumentProblem(f"--measure {text}", hint)])
    return name, {key.strip(): thresholds.parse_number(value.strip()) for key, _, value in parts}


def _of_file(problem: DocumentProblem, option: str, part: str) -> DocumentProblem:
    """Return ``problem`` with the option and file in its path instead of the part of the question."""
    path = problem.path.removeprefix(part).lstrip(".") if part else problem.path
    return DocumentProblem(f"{option}: {path}" if path else option, problem.text)


def _with_option_paths(error: ScenarioError, options: argparse.Namespace) -> ScenarioError:
    """Return ``error`` with options and files in its paths instead of parts of the question."""
    names = {
        "policy": f"--policy {options.policy}",
        "baseline": f"--baseline {options.baseline}",
        "scenario": f"--scenario {options.scenario}" if options.scenario else f"--snapshot {options.snapshot}",
        "thresholds": "thresholds",
    }
    problems = []
    for problem in error.problems:
        part = problem.path.partition(".")[0].partition("[")[0]
        problems.append(_of_file(problem, names[part], part) if part in names else problem)
    return ScenarioError(problems)


def _read_file(file: str, option: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise ScenarioError(
            [DocumentProblem(f"{option} {file}", getattr(error, "strerror", None) or str(error))]
        ) from None


def write_report(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        raise ScenarioError(
            [DocumentProblem(f"--output {file}", getattr(error, "strerror", None) or str(error))]
        ) from None
