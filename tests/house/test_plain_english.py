"""Pages speak plain English: turns that were struck do not come back.

Each pattern stands for a way of saying things that readers stumbled over. The list grows when another one is struck.
"""

from __future__ import annotations

import re

from kschedweb import catalogues

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
)
PLACEHOLDER = re.compile(r"%\(\w+\)s")


def list_texts() -> list[str]:
    messages = [message for domain in catalogues.DOMAINS for message in catalogues.collect_messages(domain)]
    return [text for message in messages for text in ([message] if isinstance(message, str) else message)]


def test_no_message_has_a_turn_that_was_struck() -> None:
    texts = [PLACEHOLDER.sub("X", text) for text in list_texts()]
    hits = [(pattern, text) for pattern in STRUCK for text in texts if re.search(pattern, text, re.IGNORECASE)]
    assert hits == []
