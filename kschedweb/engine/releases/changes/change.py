"""One difference between two releases of kube-scheduler, with a scenario that shows it."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

NODE, SCORES, MESSAGE, VICTIMS, CONFIGURATION = "node", "scores", "message", "victims", "configuration"
# The parts of an answer that can differ: the chosen node, the scores of plugins, the message if no node fits, the pods
# that would be evicted, and the result of a configuration (its errors, or the configuration with defaults).
ANSWER_PARTS = (NODE, SCORES, MESSAGE, VICTIMS, CONFIGURATION)


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """A difference of a release from the one before it."""

    name: str
    # The first release with the change ("1.36").
    since: str
    title: str
    # The change, and its meaning for people.
    sentence: str
    # The part of the scenario's answer that differs: one of ANSWER_PARTS.
    shows: str
    # A scenario for the command line with at most one pending pod, or a configuration alone. ``None`` if the change is
    # not simulated, or no scenario shows it.
    scenario: Json | None
    # Fields of ``Behaviour`` that carry it.
    behaviour: tuple[str, ...] = ()
    # Feature gates that came on with it.
    gates: tuple[str, ...] = ()
    # Plugins whose verdicts or scores it changes.
    plugins: tuple[str, ...] = ()
    # Parts of messages that only one side has.
    words: tuple[str, ...] = ()
    # Names of configuration fields, extension points or plugins that only one side knows.
    fields: tuple[str, ...] = ()

    @property
    def is_of_configuration(self) -> bool:
        """True if its scenario is a configuration alone."""
        return self.shows == CONFIGURATION
