"""Examples: finished work that the lists of a new site begin with, so that no room of it is empty.

Apps register theirs in ``ready``. Ordinary jobs of the site make them, once, when nobody else's job waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid5

import structlog
from django.db import transaction
from django.db.models.functions import Now
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from kschedweb.jobs.models import Pulse
from kschedweb.jobs.services import when_idle
from kschedweb.web.errors import ApplicationError

logger = structlog.get_logger(__name__)

# Namespace of the ids of examples; it must never change.
IDS = UUID("a0c53d53-9a40-4a2c-8d0e-2f3f1c6d7b18")
# The pulse of a site that begins with examples. With a key behind it, that of an example that was started.
WANTED = "examples"


@dataclass(frozen=True)
class SiteExample:
    """Something that a new site shows in one of its lists."""

    # Must never change: a site remembers by it that the example was started, even if it is deleted.
    key: str
    # Function that starts the jobs that make it, with its id. By its dotted name, as it is imported when it is called.
    start: str
    # Position among the others.
    place: int
    # Function that says whether this site has what the example needs; "" if any site does.
    is_possible: str = ""

    @property
    def id(self) -> UUID:
        """The id, which is the same on every site."""
        return uuid5(IDS, self.key)

    @property
    def pulse(self) -> str:
        return f"{WANTED}:{self.key}"


_examples: dict[str, SiteExample] = {}


def register_example(example: SiteExample) -> None:
    _examples[example.key] = example


def list_examples() -> list[SiteExample]:
    """Return all examples, in the order in which they are made."""
    return sorted(_examples.values(), key=lambda example: example.place)


def is_example(id: object) -> bool:
    """Return whether the row with this id was made as an example."""
    return any(example.id == id for example in _examples.values())


def translate_title(id: object, title: str) -> str:
    """Return the title of a row; of an example, in the language of the reader."""
    return gettext(title) if is_example(id) else title


def examples_want() -> None:
    """Note that this site, which is new, begins with examples."""
    Pulse.objects.get_or_create(name=WANTED, defaults={"at": Now()})


def examples_start() -> int:
    """Start the examples that were never started here, if this site begins with examples. Returns their number."""
    pulses = set(Pulse.objects.filter(name__startswith=WANTED).values_list("name", flat=True))
    if WANTED not in pulses:
        return 0
    return sum(_start_example(example) for example in list_examples() if example.pulse not in pulses)


def _start_example(example: SiteExample) -> bool:
    if example.is_possible and not import_string(example.is_possible)():
        return False
    try:
        with transaction.atomic(), when_idle():
            Pulse.objects.create(name=example.pulse, at=Now())
            import_string(example.start)(example.id)
    # The site runs without it, and tries again at its next start.
    except ApplicationError as error:
        logger.warning("an example cannot be started", example=example.key, reason=error.detail)
        return False
    return True
