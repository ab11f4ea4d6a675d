"""Plain text about a gate: its cluster, its measures, and the commands for the same verdict in a pipeline."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.clusters.kinds import KINDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.compare.changes import compute_change
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate.verdict import format_amount, unit_of_change
from kschedweb.engine.studies.measure.registry import group_of
from kschedweb.engine.studies.measure.values import SECONDS
from kschedweb.web import messages
from kschedweb.web.durations import format_duration

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.scenarios.models import ScenarioRevision

# Options of the command by key of a thresholds file.
OPTIONS = {
    "maxNewlyUnschedulable": "--max-newly-unschedulable",
    "maxMoved": "--max-moved",
    "maxPending": "--max-pending",
    "maxSkewIncrease": "--max-skew-increase",
    "zoneLossPriority": "--zone-loss-priority",
}
# Kinds that the engine needs; an optional one that a cluster does not serve would make kubectl fail.
DUMP = ",".join(
    kind.resource if not kind.group else f"{kind.resource}.{kind.group}" for kind in KINDS if not kind.optional
)


def about_snapshot(snapshot: Snapshot) -> str:
    """Return a label such as "production, 2026-11-21 20:00 UTC"."""
    return f"{snapshot.cluster.name}, {snapshot.taken_at:%Y-%m-%d %H:%M} UTC"


def about_scenario(revision: ScenarioRevision) -> str:
    return f"scenario {revision.scenario.name}, revision {revision.number}"


@dataclass(frozen=True)
class GateInvocation:
    """A question as shell commands."""

    # "name@number", as is the baseline; there "" stands for kube-scheduler's defaults.
    policy: str
    baseline: str
    # As a thresholds file has them.
    thresholds: Json
    # Either a cluster or a scenario is named.
    cluster: str = ""
    scenario: str = ""
    # Pods of the cluster that are placed: ALL or PENDING.
    place: str = ALL
    seed: int = 1
    # Release of kube-scheduler; "" for the policy's own.
    release: str = ""
    baseline_release: str = ""
    # True if the cluster has a price table.
    priced: bool = False

    @property
    def dump(self) -> str:
        """The command that dumps the objects of a cluster."""
        return f"kubectl get {DUMP} --all-namespaces --output=json > cluster.json"

    @property
    def command(self) -> str:
        """The command line, with one option per line."""
        options = ["--policy policy.yaml"]
        options += [f"--release {self.release}"] if self.release else []
        options += ["--baseline baseline.yaml"] if self.baseline else []
        options += [f"--baseline-release {self.baseline_release}"] if self.baseline_release else []
        options += ["--scenario scenario.json.gz"] if self.scenario else ["--snapshot cluster.json"]
        options += ["--prices prices.yaml"] if self.priced else []
        options += [f"--place {self.place}"] if self.place != ALL and not self.scenario else []
        options += [f"--seed {self.seed}"] if self.seed != 1 else []
        for key, option in OPTIONS.items():
            if key in self.thresholds:
                options.append(f"{option} {shlex.quote(_format_plain(self.thresholds[key]))}")
        for name, limits in self.thresholds.get("measures", {}).items():
            bounds = ",".join(f"{key}={_format_plain(value)}" for key, value in limits.items())
            options.append(f"--measure {shlex.quote(f'{name}:{bounds}')}")
        options.append("--output verdict.xml --output verdict.md")
        return _join_lines("python -m kschedweb.engine gate", options)

    @property
    def body(self) -> Json:
        """The body of the REST call beside the file of the policy."""
        body: Json = {"policy": {"release": self.release}} if self.release else {}
        of_baseline: dict[str, str | int] = {"release": self.baseline_release} if self.baseline_release else {}
        body |= {"baseline": _policy_reference(self.baseline) | of_baseline} if self.baseline else {}
        body |= {"scenario": {"id": self.scenario}} if self.scenario else {"snapshot": {"cluster": self.cluster}}
        body |= {"place": self.place} if self.place != ALL and not self.scenario else {}
        body |= {"seed": self.seed} if self.seed != 1 else {}
        return body | {"thresholds": self.thresholds}

    def build_curl(self, address: str) -> str:
        """Return the REST call to ``address``, with the policy's file."""
        options = [
            '--header "Authorization: Bearer $KSCHEDWEB_TOKEN"',
            "--header 'Accept: application/xml'",
            "--form policy=@policy.yaml",
            # --form would read a value that begins with @ as a file.
            f"--form-string request={shlex.quote(json.dumps(self.body))}",
            "--output verdict.xml",
        ]
        return _join_lines(f"curl --silent --show-error --fail-with-body {shlex.quote(address)}", options)


def _policy_reference(reference: str) -> dict[str, str | int]:
    name, _, number = reference.partition("@")
    return {"name": name, "revision": int(number)} if number else {"name": name}


def _format_plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _join_lines(head: str, options: Sequence[str]) -> str:
    return " \\\n  ".join([head, *options])


def measure_row(measure: Json) -> Json:
    """Return a measure with its amounts and its change in words."""
    # compute_change takes values by seed; a verdict has one.
    sides = [{} if measure[side] is None else {1: measure[side]} for side in ("baseline", "policy")]
    change = compute_change(measure["name"], measure["unit"], measure["direction"], *sides)
    sign = "" if not change.change else "+" if change.change > 0 else "−"
    distance = amount_or_dash(abs(change.change), unit_of_change(measure["unit"]))
    label, sentence = messages.describe_measure(measure["name"], measure["label"], measure["sentence"])
    return {
        **measure,
        "label": label,
        "sentence": sentence,
        "group": group_of(measure["name"]),
        "before": amount_or_dash(measure["baseline"], measure["unit"]),
        "after": amount_or_dash(measure["policy"], measure["unit"]),
        "differs": change.differs or (measure["baseline"] is None) is not (measure["policy"] is None),
        "change": f"{sign}{distance}" if change.change else "–",
        "better": change.better is True,
        "worse": change.better is False,
    }


def amount_or_dash(value: float | None, unit: str) -> str:
    """Return the amount with its unit; "–" if nothing was measured."""
    if value is None:
        return "–"
    return format_duration(value) if unit == SECONDS else messages.translate_amount(format_amount(value, unit))
