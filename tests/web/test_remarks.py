"""What the engine remarks is known to the catalogues as the engine says it."""

from __future__ import annotations

import pytest
from django.utils import translation

from kschedweb.advice.moves import words
from kschedweb.engine.planning import evictable
from kschedweb.engine.planning.ground import Tried
from kschedweb.engine.planning.stopping import Refusals
from kschedweb.engine.studies.moves import landing
from kschedweb.engine.studies.moves.fight import Fight
from kschedweb.web import told
from tests.support.pseudo import BEGINS, ENDS, pseudo_language


def stopped() -> list[str]:
    none, useless, back = Refusals(), Refusals(), Refusals()
    useless.useless = 3
    back.back = 1
    return [one.stop().text for one in (none, useless, back)]


def said() -> list[str]:
    fights = [
        Fight(plugin="LowNodeUtilization", scorer=scorer, pods=pods, workloads=(), times=3)
        for scorer in ("NodeResourcesFit", "")
        for pods in (("default/a",), ("default/a", "default/b"))
    ]
    moves = [landing.NO_CONTROLLER, landing.ENDED, landing.NO_USE, landing.NO_POD_USE, landing.BY_SHARE]
    stays = [evictable.DAEMON, evictable.STATIC, evictable.BARE, evictable.ASKED, evictable.PROTECTED]
    stays += [evictable.GROUPED, evictable.DEVICES, evictable.LEAVING, evictable.OTHERS]
    ends = [Refusals.reached().text, Refusals.late().text, Refusals.most(1200).text, *stopped()]
    return [*moves, *stays, *ends, *(one.sentence for one in fights)]


@pytest.mark.parametrize("text", said())
def test_a_remark_of_the_engine_is_translated(text: str) -> None:
    assert told.words(text) == text
    with pseudo_language() as code, translation.override(code):
        assert told.words(text).startswith(BEGINS)
        assert told.words(text).endswith(ENDS)


def test_several_sentences_are_translated_one_by_one() -> None:
    both = Refusals()
    for tried in (Tried(budget="default/web"), Tried(node="node-1", back=True)):
        both.heard(tried, gained=False)
    with translation.override("zh-hans"):
        assert told.words(both.stop().text).isascii() is False
        assert "Disruption" not in told.words(both.stop().text)
        assert "come back" not in told.words(both.stop().text)


def test_what_a_dry_run_finds_is_stored_in_english() -> None:
    counts = {"lands": 1, "returns": 2, "unfit": 0, "gone": 1}
    found = {"skipped": "", "evicted": 4, "counts": counts, "emptied": ["node-1"]}
    english = (
        "The descheduler would evict 4 pods: 1 land on another node, 2 come back to the node that they left and "
        "1 are not replaced; 1 node would be empty."
    )
    assert words.sentence(found) == english
    with translation.override("ja"):
        assert words.sentence(found).startswith("deschedulerはPod 4個を退避させる：")
        assert words.stored(found) == english
