"""No page of what is translated has words that nobody marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from gettext import GNUTranslations
from typing import TYPE_CHECKING

from kschedweb.catalogues import LOCALE
from tests.support.pseudo import BEGINS, ENDS
from tests.support.unmarked import outside

if TYPE_CHECKING:
    from tests.walk.visits import Visit

# Pages whose every word is marked, or data, or kube-scheduler's own.
TRANSLATED_PAGES = (
    "overview", "pods", "nodes", "policies", "policy-delete", "policy-revisions", "policy-new", "policy",
    "policy:classic", "policy:crane", "policy:karpenter", "policy-effective",
    "policy-diff", "decision:classic", "decision-answer",
    "pod-group", "pod-groups", "usage-source", "usage-annotations", "webhook", "approval",
    "approvals", "approvals-history", "webhooks",
    "webhook-new", "usage", "usage-heatmap", "usage-distribution", "usage-nodes", "usage-workloads", "decision",
    "decision:stuck", "decisions-together", "settings", "views", "password", "login",
    "trying", "tried", "scenarios", "scenario", "scenario-new", "scenario-import", "scenario-files",
    "scenario-revisions", "scenario-delete", "runs", "run", "run-new", "comparisons", "comparisons:experiments",
    "comparison", "comparison-new", "gate", "gate-verdict", "sweeps", "sweep", "sweep-new",
    "recordings", "recording", "descheduling", "descheduling-answer", "plans", "plans-answer",
    "experiment", "experiment-new",
    "costs", "costs-prices", "autoscaling-change", "autoscaling-groups",
    "capacity-answer", "capacity-gangs", "capacity-nodes", "capacity-drain", "capacity-buffer", "capacity-change",
    "capacity-fit",
    "cluster-flight", "decision-answer:effect", "decision:classic-stuck", "fleet-search", "fleet-search:empty",
    "fleet-trials", "gate:filtered", "grants", "mfa_index", "nodes:none", "nodes:state", "password-forgotten",
    "password-mailed", "pod-group:off", "pod-history", "pods:reason", "policy-diff:classic",
    "policy-effective:classic", "policy-effective:crane", "policy-effective:karpenter", "policy:points",
    "repositories", "repository-delete", "run-decision", "run:begin", "run:node", "tried:moved", "webhook-delete",
)  # fmt: skip
# What kube-scheduler and the product say of themselves, and names with blanks that the seed gives.
OWN_WORDS = re.compile(
    r"""
      ^kschedweb\ \d | (^|:\ )\d+/\d+\ nodes\ are\ available | ^(\d+\ )?Insufficient\  | ^preemption:\ | ^Preemption\ is
      | ^(Autoscaling|Job|Moves|token|view|Scenario|person|Record|Capacity|Effect|Decision|Drain|Run|Compare|Sweep)\b
      | ^(Pending|Question)\b | ^Plan\ of\ moves:
      | ^Production\ pods\ are | ^denied\ by | ^The\ policy\ that\ pages
      | \((request|decisions|run)\.\w+$ | ^request\.opened | ^[\w.-]+/[\w.-]+
      | ^rush: | ^Spread: | ^A\ zone\ is\ lost | ^Two\ zones\ hold | ^preempted\ by\  | ^No\ plugin\ prefers
      | ^storageclasses: | ,\ \d{4}-\d\d-\d\d\ \d\d:\d\d\ UTC | ^Fit\ (scoring|weight)$
      | ^pod\ group\ is\ unschedulable, | ^\s*\{labels?:
      | ^no\ nodes\ available\ to | \(\d+\)\ cannot\ be\ satisfied: | ^pool=gpu$
      | ^cannot\ delete\  | ^fits\ now$ | nothing\ to\ do\ here$ | ^Profiles\ \( | ^Classic\ \(
      | ^crane-scheduler\ \(
    """,
    re.VERBOSE,
)

MESSAGES = LOCALE / "ja" / "LC_MESSAGES" / "django.mo"
# Pages in English yet, whose durations are in the language of the reader.
TIMED_PAGES = ("live", "live-decision", "live-scheduler", "live-shadow")
DURATION = re.compile(r"(?<![\w.:])\d[\d.,]* (ms|s|min|h|d|days?)\b")
CAMEL = re.compile(r"\w*[a-z][A-Z]\w*")  # names of plugins
# Names that the seed gives, names and values of fields, and how names of plugins begin.
DATA = frozenset(
    {
        *("admin", "approver", "default", "age", "recorded", "sandbox", "nodepools", "More", "rush", "gang"),
        *("disruption", "extenders", "version", "File", "Node", "Prometheus", "System", "List", "All"),
        *(
            "all",
            "arrivals",
            "at",
            "count",
            "cycle",
            "description",
            "effect",
            "false",
            "file",
            "from",
            "history",
            "key",
            "labels",
        ),
        *("name", "namespace", "nodes", "none", "pending", "place", "true", "value", "weight", "zone", "zones"),
        *("address", "filter", "policy", "predicate", "priority", "score", "thresholds", "memory"),
        *("bind", "ignorable", "limits", "prometheus", "taints", "watermarks"),
        *("Affinity", "Pod", "Spread", "Taint", "Target", "Volume"),
    }
)


class Words:
    """Looks for words outside of what the marked language marks."""

    def __init__(self) -> None:
        with MESSAGES.open("rb") as file:
            catalogue = vars(GNUTranslations(file))["_catalog"]
        self.known_words = {
            message.lower() for message in catalogue if message and isinstance(message, str) and " " not in message
        }
        self.unvisited = {*TRANSLATED_PAGES, *TIMED_PAGES}

    def judge(self, visit: Visit) -> Iterator[str]:
        if visit.kind == "page" and visit.name in self.unvisited:
            self.unvisited.remove(visit.name)
            for text in outside(visit.text, BEGINS, ENDS):
                text = CAMEL.sub("", text.removesuffix("· kschedweb").strip(" ·,.:;()→"))
                is_sentence = len(re.findall(r"(?<![\w./-])[A-Za-z]{2,}(?![\w/-])", text)) > 1
                is_word = is_sentence or (text.lower() in self.known_words and text not in DATA)
                if (DURATION.search(text) or (visit.name in TRANSLATED_PAGES and is_word)) and not OWN_WORDS.search(
                    text
                ):
                    yield text

    def end(self) -> list[str]:
        return [f"{name} is no page" for name in self.unvisited]
