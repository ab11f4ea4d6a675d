"""The rules that run under a classic policy, in order, and their differences from the default provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.documents.writing import dump_yaml
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.catalogue import EDITION
from kschedweb.policies.classic.lists import explained_as
from kschedweb.policies.classic.validation import ClassicChecked
from kschedweb.policies.editing.arguments import iter_leaves

if TYPE_CHECKING:
    from kschedweb.engine.releases.classic import Algorithm
    from kschedweb.engine.releases.classic.policy import ClassicPolicy


@dataclass(frozen=True)
class RunningRule:
    """A predicate or a priority that runs."""

    name: str
    # The argument in words, as "labelsPresence {labels: [zone]}"; "" for none.
    argument: str
    # True if the default provider has the rule too, with the same weight.
    is_default: bool
    # True for a predicate that runs whatever the policy says.
    is_mandatory: bool = False
    # The factor of a priority's score; 0 for a predicate.
    weight: int = 0

    @property
    def explained(self) -> str:
        return explained_as(self.name, self.argument.partition(" ")[0])


@dataclass(frozen=True)
class Setting:
    name: str
    value: str
    is_default: bool


@dataclass(frozen=True)
class Effective:
    """The rules and settings that run under a policy."""

    # In the order in which they are asked.
    predicates: list[RunningRule]
    priorities: list[RunningRule]
    settings: list[Setting]
    # The fields of each extender as (path, value).
    extenders: list[list[tuple[str, str]]]
    # Predicates that the policy names but that have no place in the order, so they never run.
    never_asked: tuple[str, ...]


def compute_effective(checked: ClassicChecked) -> Effective | None:
    """Return the rules that run under a document; ``None`` if it cannot run."""
    algorithm, policy = checked.algorithm, checked.loaded.policy if checked.loaded else None
    if algorithm is None or policy is None:
        return None
    edition, arguments = algorithm.edition, arguments_of(policy)
    predicates = [
        RunningRule(
            predicate.name,
            arguments["predicates"].get(predicate.name, ""),
            predicate.name in edition.default_predicates | edition.mandatory_predicates,
            predicate.name in edition.mandatory_predicates,
        )
        for predicate in algorithm.predicates
    ]
    priorities = [
        RunningRule(
            name,
            arguments["priorities"].get(name, ""),
            edition.default_priorities.get(name) == weight and name not in arguments["priorities"],
            weight=weight,
        )
        for name, weight in algorithm.weights.items()
    ]
    extenders = [list(iter_leaves(extender)) for extender in algorithm.extenders]
    return Effective(predicates, priorities, settings_of(algorithm, policy), extenders, algorithm.never_asked)


def arguments_of(policy: ClassicPolicy) -> dict[str, dict[str, str]]:
    """Return the arguments of rules as text, by list and name."""
    lists = {"predicates": policy.predicates or (), "priorities": policy.priorities or ()}
    return {
        key: {choice.name: _format_argument(*choice.argument) for choice in choices if choice.argument is not None}
        for key, choices in lists.items()
    }


def _format_argument(kind: str, content: Json) -> str:
    text = dump_yaml(content, flow=True).strip()
    return f"{kind} {text}"


def settings_of(algorithm: Algorithm, policy: ClassicPolicy) -> list[Setting]:
    """Return the settings beside the rules, each marked if it has its default."""
    edition = algorithm.edition
    # A weight of 0 counts as absent.
    hard = policy.hard_pod_affinity_weight or edition.hard_pod_affinity_weight
    checks_all = policy.always_check_all
    return [
        Setting("version", edition.version, edition.version == EDITION.version),
        Setting("gates", ", ".join(sorted(edition.gates)) or gettext("none"), not edition.gates),
        Setting("alwaysCheckAllPredicates", "true" if checks_all else "false", not checks_all),
        Setting("hardPodAffinitySymmetricWeight", str(hard), hard == EDITION.hard_pod_affinity_weight),
        Setting("percentageOfNodesToScore", str(edition.share), edition.percentage == EDITION.percentage),
        Setting("KUBE_MAX_PD_VOLS", str(edition.max_volumes or gettext("by kind")), edition.max_volumes is None),
        Setting("extenders", str(len(algorithm.extenders)), not algorithm.extenders),
    ]
