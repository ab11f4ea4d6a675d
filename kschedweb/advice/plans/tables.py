"""The table of a plan's moves: its columns on pages and in files."""

from __future__ import annotations

from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.web import messages
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _


def _explain_eviction(move: Json) -> str:
    if move["budget"]:
        return gettext("the budget %(budget)s allows it in this wave") % {"budget": move["budget"]}
    return gettext("its controller replaces it, and no budget covers it")


MOVES = RowTable(
    "plan",
    _("Pods that move"),
    (
        Column("wave", _("Wave"), "number"),
        Column("pod", _("Pod"), cell_css="name"),
        Column("from", _("From"), cell_css="nowrap"),
        Column("to", _("To"), cell_css="nowrap"),
        Column("reason", _("Why it moves"), cell=lambda move: messages.translate_words(move["reason"])),
        Column("gain"),
        Column("budget", _("Why it may be evicted"), cell=_explain_eviction),
    ),
    marks={"data-wave": lambda move: move["wave"]},
    names="pod",
)
