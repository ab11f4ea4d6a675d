"""The registry of one process of the classic kube-scheduler, and the algorithm that it makes of a policy.

The process is also a release, so that a Policy can be used wherever a configuration can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any

from kschedweb.engine.config import PluginRef, Profile, Release
from kschedweb.engine.config.loading import Loaded, document_lines
from kschedweb.engine.config.release import Gate
from kschedweb.engine.config.schema import DEFAULT_SCHEDULER, Schema
from kschedweb.engine.framework.interface import FilterPlugin, ScorePlugin
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import predicates, priorities
from kschedweb.engine.releases.classic.algorithm import Algorithm, PolicyError
from kschedweb.engine.releases.classic.catalogue import (
    CINDER,
    EDITION,
    GATES,
    NO_EXECUTE,
    ORDER,
    TAINT_NODES_BY_CONDITION,
    V1_9,
    V1_13,
    Edition,
)
from kschedweb.engine.releases.classic.policy import ClassicPolicy, LoadedPolicy, PolicyRule, load_policy
from kschedweb.engine.releases.classic.predicates.volumes import KINDS
from kschedweb.engine.releases.classic.process import process_of
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.releases.v1_34 import V1_34
from kschedweb.engine.validation.fields import Problem

# The largest int64: the original refuses a higher total of weights times the highest score.
MAX_TOTAL = 2**63 - 1
MAX_PRIORITY = 10
# Endings that people mix up, such as those of Go's constants.
ENDING = re.compile(r"(pred|predicate|predicates|priority|map)$")
# Similarity from 0 to 1 from which on a known name is suggested for an unknown one.
CLOSE = 0.8
UNREGISTERED = dict.fromkeys((NO_EXECUTE, CINDER), "it has to be switched on")
UNREGISTERED["CheckNodeUnschedulable"] = f"it has to be switched on by {TAINT_NODES_BY_CONDITION}"
UNREGISTERED |= dict.fromkeys(("CheckNodeLabelPresence", "CheckServiceAffinity"), "it needs an argument")
Argument = tuple[str, Json] | None
# The original checks 16 nodes in parallel.
PARALLELISM = 16
PATCHES = {V1_13: "1.13.0", V1_9: "1.9.2"}
SWITCHES = {name: Gate("alpha", default=False) for name in sorted(GATES)}


class Registry:
    """The predicates and priorities registered by name in one process of the original.

    Rules that a policy registers stay registered: their weights and arguments hold for later policies, and for the
    default provider, unless these set others.
    """

    def __init__(self, edition: Edition = EDITION) -> None:
        self.edition = edition
        self._predicates: dict[str, Argument] = dict.fromkeys(edition.predicates)
        self._priorities: dict[str, tuple[int, Argument]] = {
            name: (weight, None) for name, weight in edition.priorities.items()
        }
        self._original = dict(self._priorities)

    def find_leftovers(self, policy: ClassicPolicy | None = None) -> list[str]:
        """Return the default provider's priorities that an earlier policy changed; none if the provider is not used."""
        if not self._uses_default_provider(policy, None if policy is None else policy.priorities):
            return []
        return [
            name for name in sorted(self.edition.default_priorities) if self._priorities[name] != self._original[name]
        ]

    def _uses_default_provider(self, policy: ClassicPolicy | None, chosen: tuple[PolicyRule, ...] | None) -> bool:
        """Return whether the default provider supplies the rules that ``policy`` leaves out.

        In 1.9 none were supplied.
        """
        return policy is None or (chosen is None and not self.edition.old)

    def build_algorithm(self, policy: ClassicPolicy | None = None) -> Algorithm:
        """Register ``policy`` and return the rules that run; without a policy, those of the default provider.

        Raises PolicyError for a policy that cannot run; then nothing is registered.
        """
        saved = dict(self._predicates), dict(self._priorities)
        try:
            return self._build_algorithm(policy)
        except PolicyError:
            self._predicates, self._priorities = saved
            raise

    def _build_algorithm(self, requested: ClassicPolicy | None) -> Algorithm:
        edition, policy = self.edition, requested or ClassicPolicy()
        problems = self._register_policy(policy)
        if problems:
            raise PolicyError(problems)
        names = {choice.name for choice in policy.predicates or ()} | edition.mandatory_predicates
        if self._uses_default_provider(requested, policy.predicates):
            names |= edition.default_predicates
        chosen = {choice.name for choice in policy.priorities or ()}
        if self._uses_default_provider(requested, policy.priorities):
            chosen |= set(edition.default_priorities)
        weights = {name: self._priorities[name][0] for name in sorted(chosen)}
        if sum(weights.values()) * MAX_PRIORITY > MAX_TOTAL:
            raise PolicyError([Problem("priorities", "Total priority of priority functions has overflown")])
        if both := sorted(names & set(weights)):
            message = (
                f"{both[0]} is also the name of a predicate, which would be told apart nowhere: rename one of them"
            )
            raise PolicyError([Problem("priorities", message)])
        order = sorted(names) if edition.old else [name for name in ORDER if name in names]
        hard = policy.hard_pod_affinity_weight or edition.hard_pod_affinity_weight
        refs = {
            "filter": tuple(map(PluginRef, order)),
            "score": tuple(PluginRef(name, weight) for name, weight in weights.items()),
        }
        return Algorithm(
            profiles=(Profile(DEFAULT_SCHEDULER, None, refs, {}),),
            percentage_of_nodes_to_score=edition.share,
            parallelism=PARALLELISM,
            document=self._written_out(policy, order, weights),
            release=classic_release(edition),
            predicates=[self._create_predicate(name, policy) for name in order],
            priorities=[self._create_priority(name, hard) for name in weights],
            weights=weights,
            extenders=policy.extenders,
            always_check_all=policy.always_check_all or edition.old,
            edition=edition,
            never_asked=tuple(sorted(names - set(order))),
        )

    def _written_out(self, policy: ClassicPolicy, order: Iterable[str], weights: Mapping[str, int]) -> Json:
        """Return the Policy with the lists that the default provider supplies."""
        lists: Json = {}
        if policy.predicates is None:
            lists["predicates"] = [{"name": name} for name in order]
        if policy.priorities is None:
            lists["priorities"] = [{"name": name, "weight": weight} for name, weight in weights.items()]
        return policy.document | lists

    def _register_policy(self, policy: ClassicPolicy) -> list[Problem]:
        problems = []
        for number, choice in enumerate(policy.predicates or ()):
            if choice.argument is not None:
                self._predicates[choice.name] = choice.argument
            elif choice.name not in self._predicates:
                problems.append(_unknown_rule("predicates", number, choice, self._predicates))
        for number, choice in enumerate(policy.priorities or ()):
            if choice.argument is not None or choice.name in self._priorities:
                argument = self._priorities.get(choice.name, (0, None))[1]
                self._priorities[choice.name] = choice.weight, choice.argument or argument
            else:
                problems.append(_unknown_rule("priorities", number, choice, self._priorities))
        return problems

    def _create_predicate(self, name: str, policy: ClassicPolicy) -> FilterPlugin:
        edition, argument = self.edition, self._predicates[name]
        factories = predicates.predicate_factories(old=edition.old)
        if argument is not None:
            kind, content = argument
            return factories[kind](name, content)
        settings: Json = {"ignored": policy.ignored_resources, "volume_scheduling": not edition.old}
        if name in KINDS:
            settings = {"max_volumes": edition.max_volumes, "uses_node_limits": not edition.old}
        return factories[name](name, settings)

    def _create_priority(self, name: str, hard: int) -> ScorePlugin:
        _, argument = self._priorities[name]
        factories = priorities.priority_factories(old=self.edition.old)
        if argument is None:
            return factories[name](name, {"hardPodAffinityWeight": hard})
        kind, content = argument
        return factories[kind](name, content)


def _unknown_rule(key: str, number: int, choice: PolicyRule, available: Mapping[str, Any]) -> Problem:
    rule_kind = {"predicates": "Predicate", "priorities": "Priority"}[key]
    message = f"Invalid configuration: {rule_kind} type not found for {choice.name}; "
    message += _suggest_name(choice.name, available if key == "priorities" else {*available, *UNREGISTERED})
    return Problem(f"{key}[{number}].name", f"{message}known without an argument: {', '.join(sorted(available))}")


def _suggest_name(name: str, names: Iterable[str]) -> str:
    """Return the hint which of ``names`` is meant, whatever its ending; "" if none is close."""
    if name in ORDER:
        return f"{UNREGISTERED.get(name, 'it is of a later version')}; "
    stems = {_strip_ending(candidate): candidate for candidate in sorted(names)}
    matches = get_close_matches(_strip_ending(name), stems, n=1, cutoff=CLOSE)
    if not matches:
        return ""
    meant = stems[matches[0]]
    return f"you mean {meant}{f', but {UNREGISTERED[meant]}' if meant in UNREGISTERED else ''}; "


def _strip_ending(name: str) -> str:
    return ENDING.sub("", name.lower()) or name.lower()


@lru_cache(maxsize=64)
def classic_release(edition: Edition) -> Release:
    """Return the kube-scheduler of ``edition``. Rules that one Policy registers are unknown to the next."""
    # The flags of later releases concern plugins that this one does not have, so those of 1.34 stand in.
    return Release(
        version=PATCHES[edition.version],
        specs=(),
        defaults=(),
        schema=Schema(group_points=()),
        gates=SWITCHES,
        behaviour=V1_34.behaviour,
        scheme=V1_34.scheme,
        switched=dict.fromkeys(sorted(edition.gates), True),
        cluster=ClassicSnapshot,
        scheduler=ClassicScheduler,
        loader=partial(_load_document, edition),
        process={"version": edition.version, **process_of(edition)},
    )


def _load_document(edition: Edition, document: str | bytes | Mapping[str, Any] | None) -> Loaded:
    """Load a Policy as a release loads a KubeSchedulerConfiguration; ``None`` means the default provider."""
    loaded = LoadedPolicy(None) if document is None else load_policy(document)
    lines = {} if document is None else document_lines(document)
    problems = loaded.problems
    if not problems:
        try:
            algorithm = Registry(edition).build_algorithm(loaded.policy)
        except PolicyError as error:
            problems = error.problems
        else:
            never = [f"{name} is never asked: it has no place in the fixed order" for name in algorithm.never_asked]
            warnings = [*map(_problem_text, loaded.warnings), *never]
            return Loaded(warnings=warnings, defaulted=algorithm.document, configuration=algorithm, lines=lines)
    return Loaded(
        [_problem_text(problem) for problem in problems],
        [Problem(problem.path, _problem_text(problem)) for problem in problems],
        lines=lines,
    )


def _problem_text(problem: Problem) -> str:
    return f"{problem.path}: {problem.text}" if problem.path else problem.text
