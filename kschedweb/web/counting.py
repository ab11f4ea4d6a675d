"""Numbers of things in words: "3,000 policies", "1 person"."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop, ngettext


def ngettext_noop(singular: str, many: str) -> tuple[str, str]:
    """Mark both forms of a message for the catalogues."""
    return singular, many


# By the English plural: the word alone, and the word with a number.
NOUNS: dict[str, tuple[str, tuple[str, str]]] = {
    "clusters": (gettext_noop("clusters"), ngettext_noop("%(number)s cluster", "%(number)s clusters")),
    "comparisons": (gettext_noop("comparisons"), ngettext_noop("%(number)s comparison", "%(number)s comparisons")),
    "containers": (gettext_noop("containers"), ngettext_noop("%(number)s container", "%(number)s containers")),
    "decisions": (gettext_noop("decisions"), ngettext_noop("%(number)s decision", "%(number)s decisions")),
    "deliveries": (gettext_noop("deliveries"), ngettext_noop("%(number)s delivery", "%(number)s deliveries")),
    "devices": (gettext_noop("devices"), ngettext_noop("%(number)s device", "%(number)s devices")),
    "differences": (gettext_noop("differences"), ngettext_noop("%(number)s difference", "%(number)s differences")),
    "dimensions": (gettext_noop("dimensions"), ngettext_noop("%(number)s dimension", "%(number)s dimensions")),
    "endpoints": (gettext_noop("endpoints"), ngettext_noop("%(number)s endpoint", "%(number)s endpoints")),
    "experiments": (gettext_noop("experiments"), ngettext_noop("%(number)s experiment", "%(number)s experiments")),
    "feasible nodes": (
        gettext_noop("feasible nodes"), ngettext_noop("%(number)s feasible node", "%(number)s feasible nodes")
    ),
    "files": (gettext_noop("files"), ngettext_noop("%(number)s file", "%(number)s files")),
    "gangs": (gettext_noop("gangs"), ngettext_noop("%(number)s gang", "%(number)s gangs")),
    "groups": (gettext_noop("groups"), ngettext_noop("%(number)s group", "%(number)s groups")),
    "jobs": (gettext_noop("jobs"), ngettext_noop("%(number)s job", "%(number)s jobs")),
    "lines": (gettext_noop("lines"), ngettext_noop("%(number)s line", "%(number)s lines")),
    "measures": (gettext_noop("measures"), ngettext_noop("%(number)s measure", "%(number)s measures")),
    "more devices": (gettext_noop("more devices"), ngettext_noop("%(number)s more device", "%(number)s more devices")),
    "more pods": (gettext_noop("more pods"), ngettext_noop("%(number)s more pod", "%(number)s more pods")),
    "more": (gettext_noop("more"), ngettext_noop("%(number)s more", "%(number)s more")),
    "moves": (gettext_noop("moves"), ngettext_noop("%(number)s move", "%(number)s moves")),
    "nodes": (gettext_noop("nodes"), ngettext_noop("%(number)s node", "%(number)s nodes")),
    "new nodes": (gettext_noop("new nodes"), ngettext_noop("%(number)s new node", "%(number)s new nodes")),
    "notes": (gettext_noop("notes"), ngettext_noop("%(number)s note", "%(number)s notes")),
    "objects": (gettext_noop("objects"), ngettext_noop("%(number)s object", "%(number)s objects")),
    "offers": (gettext_noop("offers"), ngettext_noop("%(number)s offer", "%(number)s offers")),
    "other nodes": (gettext_noop("other nodes"), ngettext_noop("%(number)s other node", "%(number)s other nodes")),
    "pending pods": (gettext_noop("pending pods"), ngettext_noop("%(number)s pending pod", "%(number)s pending pods")),
    "people": (gettext_noop("people"), ngettext_noop("%(number)s person", "%(number)s people")),
    "plugins": (gettext_noop("plugins"), ngettext_noop("%(number)s plugin", "%(number)s plugins")),
    "pods": (gettext_noop("pods"), ngettext_noop("%(number)s pod", "%(number)s pods")),
    "points": (gettext_noop("points"), ngettext_noop("%(number)s point", "%(number)s points")),
    "policies": (gettext_noop("policies"), ngettext_noop("%(number)s policy", "%(number)s policies")),
    "queues": (gettext_noop("queues"), ngettext_noop("%(number)s queue", "%(number)s queues")),
    "ready scenarios": (
        gettext_noop("ready scenarios"), ngettext_noop("%(number)s ready scenario", "%(number)s ready scenarios")
    ),
    "plans of moves": (
        gettext_noop("plans of moves"), ngettext_noop("%(number)s plan of moves", "%(number)s plans of moves")
    ),
    "recordings": (gettext_noop("recordings"), ngettext_noop("%(number)s recording", "%(number)s recordings")),
    "requests": (gettext_noop("requests"), ngettext_noop("%(number)s request", "%(number)s requests")),
    "results": (gettext_noop("results"), ngettext_noop("%(number)s result", "%(number)s results")),
    "revisions": (gettext_noop("revisions"), ngettext_noop("%(number)s revision", "%(number)s revisions")),
    "rows": (gettext_noop("rows"), ngettext_noop("%(number)s row", "%(number)s rows")),
    "running pods": (
        gettext_noop("running pods"), ngettext_noop("%(number)s running pod", "%(number)s running pods")
    ),
    "runs": (gettext_noop("runs"), ngettext_noop("%(number)s run", "%(number)s runs")),
    "saved views": (gettext_noop("saved views"), ngettext_noop("%(number)s saved view", "%(number)s saved views")),
    "scenarios": (gettext_noop("scenarios"), ngettext_noop("%(number)s scenario", "%(number)s scenarios")),
    "seeds": (gettext_noop("seeds"), ngettext_noop("%(number)s seed", "%(number)s seeds")),
    "similar measures": (
        gettext_noop("similar measures"), ngettext_noop("%(number)s similar measure", "%(number)s similar measures")
    ),
    "sweeps": (gettext_noop("sweeps"), ngettext_noop("%(number)s sweep", "%(number)s sweeps")),
    "domains": (gettext_noop("domains"), ngettext_noop("%(number)s domain", "%(number)s domains")),
    "tries": (gettext_noop("tries"), ngettext_noop("%(number)s try", "%(number)s tries")),
    "times": (gettext_noop("times"), ngettext_noop("%(number)s time", "%(number)s times")),
    "trials": (gettext_noop("trials"), ngettext_noop("%(number)s trial", "%(number)s trials")),
    "verdicts": (gettext_noop("verdicts"), ngettext_noop("%(number)s verdict", "%(number)s verdicts")),
    "waves": (gettext_noop("waves"), ngettext_noop("%(number)s wave", "%(number)s waves")),
    "workloads": (gettext_noop("workloads"), ngettext_noop("%(number)s workload", "%(number)s workloads")),
}  # fmt: skip
# Words for things that are there or missing, but not counted.
UNCOUNTED = (
    gettext_noop("annotations"),
    gettext_noop("autoscaling"),
    gettext_noop("costs"),
    gettext_noop("prices"),
    gettext_noop("right-sizing"),
    gettext_noop("usage"),
)


def format_count(number: int, nouns: str) -> str:
    """Return a number with its noun: "3,000 policies", "1 policy", "1 person"; ``nouns`` is the plural."""
    if nouns in NOUNS:
        return ngettext(*NOUNS[nouns][1], number) % {"number": f"{number:,}"}
    if number != 1:
        return f"{number:,} {nouns}"
    return f"1 {nouns[:-3]}y" if nouns.endswith("ies") else f"1 {nouns.removesuffix('s')}"


def translate_noun(nouns: str) -> str:
    """Return a plural noun in the reader's language."""
    return gettext(nouns) if nouns in NOUNS or nouns in UNCOUNTED else nouns
