"""Pages and documents speak plain English: turns that were struck do not come back.

Each pattern stands for a way of saying things that readers stumbled over. The list grows when another one is struck.
"""

from __future__ import annotations

import re

import pytest

from kschedweb import catalogues
from tests.support.documents import DOCS
from tests.support.site import ROOT

STRUCK = (
    r"\banew\b",
    r"\bas it was read\b",
    r"\bby itself\b",
    r"\bcomes? to an end\b",
    r"\bfor want of\b",
    r"\bgo(es)? on\b",
    r"\bin place of\b",
    r"\bis to go\b",
    r"\b(?<!is )(?<!was )left out: (?=\w)",
    r"\bthat (is|are) there\b",
    r"\btold\b",
    r"\bwhatever\b",
    r"\bwhoever\b",
    r"\bwork(s|ed)? (it |them )?out\b",
    # Whole sentences, each with a plainer one in its place.
    r"\bas fast as a clock\b",
    r"\bbetween two looks\b",
    r"\bevery node under every\b",
    r"\bfirst in its order\b",
    r"\bfollows? pods that moved\b",
    r"\bknows the future\b",
    r"\bnames (a|no) release of kube-scheduler, so\b",
    r"\bon the front\b",
    r"\bpoints of node skew\b",
    r"\bprice of a move\b",
    r"\bsay why: the pods\b",
    r"\bscheduling cycle fails\b",
    r"\bspeak TLS as expected\b",
    r"\bwhere none is chosen\b",
    r"\bwould fit now\b",
)
# How often documents still have a turn; those above have none where they are not named. A bound may only fall.
IN_DOCUMENTS = {
    r"\bcomes? to\b": 0,
    r"\bsaid\b": 0,
    r"\bstands?\b": 2,
    r"\bat a time\b": 15,
    r"\bof (its|their) own\b": 19,
    r"\bthose of\b": 28,
}
PLACEHOLDER = re.compile(r"%\(\w+\)s")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
# The glossary quotes words to explain them, and docs/settings.md is generated.
DOCUMENTS = [ROOT / "README.md", *(path for path in DOCS.glob("*.md") if path.stem not in ("glossary", "settings"))]


def list_texts() -> list[str]:
    messages = [message for domain in catalogues.DOMAINS for message in catalogues.collect_messages(domain)]
    return [text for message in messages for text in ([message] if isinstance(message, str) else message)]


def test_no_message_has_a_turn_that_was_struck() -> None:
    texts = [PLACEHOLDER.sub("X", text) for text in list_texts()]
    hits = [(pattern, text) for pattern in STRUCK for text in texts if re.search(pattern, text, re.IGNORECASE)]
    assert hits == []


@pytest.mark.parametrize("pattern", dict.fromkeys((*STRUCK, *IN_DOCUMENTS)))
def test_documents_have_no_more_of_a_turn_than_its_bound(pattern: str) -> None:
    texts = {path.name: CODE.sub("", path.read_text(encoding="utf-8")) for path in DOCUMENTS}
    counts = {name: len(re.findall(pattern, text, re.IGNORECASE)) for name, text in texts.items()}
    bound = IN_DOCUMENTS.get(pattern, 0)
    assert sum(counts.values()) <= bound, {name: count for name, count in counts.items() if count}
