"""Conversion of a v1 Policy to a KubeSchedulerConfiguration v1, through the plugins of kube-scheduler 1.22.

Each predicate, priority and extender of the policy gets one note: its counterpart today is equal, near, or missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace

from kschedweb.engine.config import Release
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE, Note
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.releases.classic import counterparts, modern_profile
from kschedweb.engine.releases.classic.algorithm import PolicyError
from kschedweb.engine.releases.classic.catalogue import EDITION, ORDER, Edition
from kschedweb.engine.releases.classic.counterparts import Counterpart
from kschedweb.engine.releases.classic.legacy import ALIASES, LegacyProfile, plan_profile
from kschedweb.engine.releases.classic.legacy import EQUAL as SAME_FOR_ALL
from kschedweb.engine.releases.classic.legacy import PREDICATES as KNOWN_IN_1_22
from kschedweb.engine.releases.classic.legacy import PRIORITIES as SCORED_IN_1_22
from kschedweb.engine.releases.classic.policy import ClassicPolicy, PolicyRule
from kschedweb.engine.releases.classic.priorities.room import DEFAULT_SHAPE
from kschedweb.engine.releases.classic.registry import Registry
from kschedweb.engine.validation.labels import name_complaints
from kschedweb.engine.values import dataclass

# Weights of plugins are int32.
MAX_WEIGHT = 2**31 - 1
RATIO, BY_SHAPE = "RequestedToCapacityRatioPriority", "requestedToCapacityRatioArguments"
BY_ROOM = frozenset({"LeastRequestedPriority", "MostRequestedPriority", RATIO})
SPREADING = frozenset({"SelectorSpreadPriority", "ServiceSpreadingPriority"})
CARRIED = frozenset(SCORED_IN_1_22) | SPREADING | {SAME_FOR_ALL}
NODE_AFFINITY = "NodeAffinityPriority"
# Predicates that match a pod's node selectors.
SELECTORS = frozenset({"GeneralPredicates", "MatchNodeSelector"})
NEVER_ASKED = "Version 1.13 never asked it, as its name has no place in the order of predicates; it is asked now."
EXTENDER = (
    "It is asked as before, with capitals in the names of fields (Pod, Nodes, NodeNames), and last where it is "
    "ignorable. Its scores from 0 to 10 are put on the scale to 100, as those of plugins are."
)
MANDATORY = {
    "NodeUnschedulable": "Stands for CheckNodeCondition, which ran whatever the policy said: cordoned nodes are "
    "rejected, unless the pod tolerates that.",
    "TaintToleration": "Rejects nodes with taints that the pod does not tolerate. It stands for CheckNodeCondition, "
    "which ran whatever the policy said: node controllers turn conditions into taints.",
    "PodTopologySpread": "Rejects nodes by the spread constraints that pods have themselves: kube-scheduler 1.22 took "
    "it into the default set.",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on the profile as a whole, or on a part of it that the policy does not have."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of a conversion."""

    # Plain data of a valid KubeSchedulerConfiguration v1.
    document: Json
    notes: tuple[Note, ...]
    remarks: tuple[Remark, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The number of notes of each kind."""
        return {kind: sum(note.kind == kind for note in self.notes) for kind in (EQUAL, NEAR, NONE)}

    @property
    def summary(self) -> str:
        """The counts in a sentence."""
        if not self.notes:
            return "There is no rule that anything has to stand for."
        equal, near, none = self.counts.values()
        have = "has" if equal == 1 else "have"
        return (
            f"{equal} of {len(self.notes)} {'rule' if len(self.notes) == 1 else 'rules'} {have} an exact counterpart, "
            f"{near} a near one, {none} {'has' if none == 1 else 'have'} none."
        )

    def to_dict(self) -> Json:
        return {"summary": self.summary, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Rule:
    """An entry of the policy, with the argument that counts."""

    path: str
    choice: PolicyRule
    # Path of a later entry of the same name, which counts instead; "" if there is none.
    counted: str = ""

    @property
    def name(self) -> str:
        return self.choice.name

    @property
    def argument(self) -> tuple[str, Json]:
        return self.choice.argument or ("", {})

    def make_note(self, counterpart: Counterpart, more: str = "") -> Note:
        text = f"{counterpart.text} {more}".rstrip()
        return Note(self.path, self.name, counterpart.kind, text, counterpart.plugins)


@dataclass(slots=True)
class _Part:
    """The predicates or the priorities: their notes, and their input to the rules of 1.22."""

    # Label requirements that NodeAffinity adds to every pod, with weights if they are preferences.
    notes: list[Note] = field(default_factory=list)
    carried: list[PolicyRule] = field(default_factory=list)
    expressions: list[tuple[int, Json]] = field(default_factory=list)
    # 1.22 gets its default set instead of ``carried``.
    default: bool = False

    @property
    def choices(self) -> tuple[PolicyRule, ...] | None:
        return None if self.default else tuple(self.carried)


def convert_policy(policy: ClassicPolicy | None, edition: Edition = EDITION, release: Release = CURRENT) -> Conversion:
    """Convert ``policy``, or the default provider, to a profile of ``release``, with a note on each item.

    Raises PolicyError for a policy that cannot run.
    """
    Registry(edition).build_algorithm(policy)
    effective_policy = policy or ClassicPolicy()
    filters = _convert_predicates(_choose_rules(policy, effective_policy.predicates, edition), edition)
    scores = _convert_priorities(_choose_rules(policy, effective_policy.priorities, edition), edition)
    hard = effective_policy.hard_pod_affinity_weight or edition.hard_pod_affinity_weight
    legacy = plan_profile(ClassicPolicy(filters.choices, scores.choices, effective_policy.extenders, hard))
    affinity = modern_profile.added_affinity([expression for _, expression in filters.expressions], scores.expressions)
    document = modern_profile.build_document(legacy, affinity, effective_policy.extenders, edition.share, release)
    loaded = load(document, release)
    if not loaded.valid:
        raise PolicyError(loaded.problems)
    notes = (*filters.notes, *scores.notes, *_note_other_fields(effective_policy, legacy))
    return Conversion(document, notes, tuple(_list_remarks(notes, legacy, edition)))


def _choose_rules(
    policy: ClassicPolicy | None, choices: tuple[PolicyRule, ...] | None, edition: Edition
) -> tuple[PolicyRule, ...] | None:
    """Return the rules that the policy chooses. ``None`` means the default provider, which 1.9 did not use here."""
    return () if choices is None and policy is not None and edition.old else choices


def _list_rules(key: str, chosen: tuple[PolicyRule, ...] | None, default: Mapping[str, int]) -> list[_Rule]:
    if chosen is None:
        return [_Rule(key, PolicyRule(name, weight)) for name, weight in default.items()]
    last = {choice.name: number for number, choice in enumerate(chosen)}
    arguments = {choice.name: choice.argument for choice in chosen if choice.argument is not None}
    return [
        _Rule(
            f"{key}[{number}]",
            replace(choice, argument=arguments.get(choice.name)),
            f"{key}[{last[choice.name]}]" if number < last[choice.name] else "",
        )
        for number, choice in enumerate(chosen)
    ]


def _duplicate_note(rule: _Rule) -> Note:
    return rule.make_note(Counterpart(EQUAL, f"Its name comes again at {rule.counted}, and only that counted."))


def _convert_predicates(chosen: tuple[PolicyRule, ...] | None, edition: Edition) -> _Part:
    rules = _list_rules(
        "predicates", chosen, dict.fromkeys((name for name in ORDER if name in edition.default_predicates), 0)
    )
    selecting = any(not rule.argument[0] and rule.name in SELECTORS for rule in rules)
    part = _Part(default=chosen is None and not edition.old)
    for rule in rules:
        if rule.counted:
            part.notes.append(_duplicate_note(rule))
            continue
        if rule.argument[0]:
            counterpart = _argued_filter(rule, part, selecting)
        else:
            among = counterparts.PREDICATES | (counterparts.OLD_PREDICATES if edition.old else {})
            counterpart = among[rule.name]
            if ALIASES.get(rule.name, rule.name) in KNOWN_IN_1_22:
                part.carried.append(PolicyRule(rule.name))
        more = ""
        if not edition.old and rule.name not in ORDER and counterpart.plugins:
            counterpart, more = replace(counterpart, kind=NEAR), NEVER_ASKED
        part.notes.append(rule.make_note(counterpart, more))
    return part


def _argued_filter(rule: _Rule, part: _Part, selecting: bool) -> Counterpart:
    """Return the counterpart of a predicate with an argument; ``selecting``: pods' node selectors are matched, too."""
    kind, content = rule.argument
    counterpart = counterparts.find_argument_counterpart(kind, content)
    if kind != "labelsPresence":
        return counterpart
    impossible = [label for label in content["labels"] if name_complaints(label)]
    if impossible and content["presence"]:
        text = f"No node can have the label {impossible[0]!r}: every node was rejected, which no profile can say."
        return Counterpart(NONE, text)
    expressions = [
        modern_profile.label_requirement(label, content["presence"])
        for label in content["labels"]
        if label not in impossible
    ]
    if not expressions:
        return Counterpart(EQUAL, "Every node met it, so nothing has to stand for it.")
    part.expressions += [(0, expression) for expression in expressions]
    part.carried.append(PolicyRule("MatchNodeSelector"))
    if selecting:
        return counterpart
    text = "The pods' own node selectors and required node affinity, which the policy did not look at, count too."
    return replace(counterpart, kind=NEAR, text=f"{counterpart.text} {text}")


def _convert_priorities(chosen: tuple[PolicyRule, ...] | None, edition: Edition) -> _Part:
    rules = _list_rules("priorities", chosen, edition.default_priorities)
    part = _Part(default=chosen is None and not edition.old)
    instead = _find_superseded([rule for rule in rules if not rule.counted]) if chosen is not None else {}
    for rule in rules:
        if rule.counted:
            part.notes.append(_duplicate_note(rule))
            continue
        if rule.path in instead:
            part.notes.append(rule.make_note(Counterpart(NONE, instead[rule.path])))
            continue
        more = ""
        if part.default and rule.name == "SelectorSpreadPriority":
            more = "Its weight is 2, as kube-scheduler 1.22 has it by default, and was 1."
        elif rule.choice.weight > MAX_WEIGHT:
            more = f"Its weight of {rule.choice.weight} is cut to {MAX_WEIGHT}, the most there is."
        part.notes.append(rule.make_note(_convert_priority(rule, part), more))
    preferred = sum(weight for weight, _ in part.expressions)
    if preferred and all(choice.name != NODE_AFFINITY for choice in part.carried):
        part.carried.append(PolicyRule(NODE_AFFINITY, min(preferred, MAX_WEIGHT)))
    return part


def _convert_priority(rule: _Rule, part: _Part) -> Counterpart:
    """Return the counterpart of a priority, and add the input for 1.22 to ``part``."""
    kind, content = rule.argument
    weight = min(rule.choice.weight, MAX_WEIGHT)
    if rule.name == RATIO and not kind:
        content = {"shape": [{"utilization": at, "score": score} for at, score in DEFAULT_SHAPE]}
        kind = BY_SHAPE
    if kind == BY_SHAPE:
        part.carried.append(PolicyRule(BY_SHAPE, weight, (BY_SHAPE, content)))
    elif kind == "labelPreference":
        if name_complaints(content["label"]):
            text = "No node can have the label: every node had the same score, so nothing has to stand for it."
            return Counterpart(EQUAL, text)
        part.expressions.append(
            (rule.choice.weight, modern_profile.label_requirement(content["label"], content["presence"]))
        )
    elif not kind and rule.name in CARRIED:
        part.carried.append(PolicyRule(rule.name, weight))
    return counterparts.find_argument_counterpart(kind, content) if kind else counterparts.PRIORITIES[rule.name]


def _find_superseded(rules: list[_Rule]) -> dict[str, str]:
    """Return, by path, why a priority has no counterpart: its plugin replaces another priority already."""
    reasons: dict[str, str] = {}
    room = [rule for rule in rules if rule.argument[0] == BY_SHAPE or (not rule.argument[0] and rule.name in BY_ROOM)]
    if room:
        winner = max(room, key=lambda rule: rule.choice.weight)
        reason = f"A profile has one scoring strategy: that of {winner.name}, which weighs most."
        reasons |= {rule.path: reason for rule in room if rule is not winner}
    spread = [rule for rule in rules if not rule.argument[0] and rule.name in SPREADING]
    for rule in spread[:-1]:
        winner = spread[-1]
        reasons[rule.path] = f"PodTopologySpread stands for {winner.name}, with its weight, as in kube-scheduler 1.22."
    return reasons


def _note_other_fields(policy: ClassicPolicy, legacy: LegacyProfile) -> Iterator[Note]:
    """Yield the notes on extenders and switches."""
    for number, extender in enumerate(policy.extenders):
        text = EXTENDER
        if (extender.get("tlsConfig") or {}).get(modern_profile.PRIVATE_KEY):
            text += " Its private key is left out: name a file under tlsConfig.keyFile."
        yield Note(f"extenders[{number}]", extender["urlPrefix"], NEAR, text)
    if policy.hard_pod_affinity_weight:
        name, plugin = "hardPodAffinitySymmetricWeight", "InterPodAffinity"
        if any(ref.name == plugin for ref in legacy.plugins.get("score", ())):
            yield Note(name, name, EQUAL, "It is hardPodAffinityWeight among the plugin's arguments.", (plugin,))
        else:
            yield Note(name, name, EQUAL, "No priority reads it, so nothing has to stand for it.")
    if policy.always_check_all:
        name = "alwaysCheckAllPredicates"
        text = "The first plugin that rejects a node ends its trial: the same nodes pass, and messages name less."
        yield Note(name, name, NONE, text)


def _list_remarks(notes: Sequence[Note], legacy: LegacyProfile, edition: Edition) -> Iterator[Remark]:
    noted_plugins = {plugin for note in notes for plugin in note.plugins if note.path.startswith("predicates")}
    for ref in legacy.plugins["filter"]:
        name = modern_profile.RENAMED.get(ref.name, ref.name)
        if name not in noted_plugins and name in MANDATORY:
            yield Remark(name, MANDATORY[name])
    for name, text in modern_profile.ADDED.items():
        yield Remark(name, text)
    yield Remark("Equal nodes", "Of equally good nodes one is drawn by chance; before, each was taken in its turn.")
    detail = f"It is {edition.share}, as it was. Left out, it depends on the number of nodes."
    yield Remark("percentageOfNodesToScore", detail)
    if edition.max_volumes is not None:
        detail = (
            f"KUBE_MAX_PD_VOLS, which was {edition.max_volumes}, is not read any more: CSI drivers give the limits."
        )
        yield Remark("KUBE_MAX_PD_VOLS", detail)
