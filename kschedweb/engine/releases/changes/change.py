"""One difference between two releases of kube-scheduler, with a scenario that shows it."""

from __future__ import annotations

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.values import dataclass

NODE, SCORES, MESSAGE, VICTIMS, CONFIGURATION = "node", "scores", "message", "victims", "configuration"
ANSWER_PARTS = (NODE, SCORES, MESSAGE, VICTIMS, CONFIGURATION)
"""What of an answer can differ: the chosen node, the scores of plugins, the message where no node fits, the pods that
would be evicted, and what is made of a configuration (its errors, or it with its defaults)."""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """What a release does otherwise than the one before it.

    ``since`` is the first release that does ("1.36"), ``sentence`` what it does and what that means for people.
    ``behaviour`` are the fields of ``Behaviour`` that say it, ``gates`` the feature gates that came on with it,
    ``plugins`` those whose verdicts or scores it changes, ``words`` parts of messages that only one side has, and
    ``fields`` names of fields of a configuration, of extension points, or of plugins that only one side knows.
    ``scenario`` is one for the command line with at most one pending pod, or a configuration alone; ``shows`` says what
    of its answer differs. It is ``None`` for what is not
    repeated here, or what no scenario shows.
    """

    name: str
    since: str
    title: str
    sentence: str
    shows: str
    scenario: Json | None
    behaviour: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def is_of_configuration(self) -> bool:
        """Whether its scenario is a configuration alone."""
        return self.shows == CONFIGURATION
