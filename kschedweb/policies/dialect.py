"""One interface to policies of profiles and to classic ones: what their documents say, and what can be done with them.

``kinds`` has the implementations. Whoever has a policy asks its ``dialect``, and never what kind it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from django.db import models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kschedweb.engine.documents.marked import Document, Problem
    from kschedweb.policies.diff import PolicyChange
    from kschedweb.web.errors import FieldProblem

Json = dict[str, Any]


class Kind(models.TextChoices):
    """What a policy's documents are, from the first to the last."""

    PROFILES = "profiles", "Profiles (KubeSchedulerConfiguration)"
    CLASSIC = "classic", "Classic (Policy)"


class CheckedText(Protocol):
    """A text with everything the engine says about it; ``document`` is ``None`` where it is no YAML at all.

    ``secrets`` say where private keys and tokens stand, which nobody may keep here. ``notes`` say what keeps live
    schedulers from running it, though it may be saved.
    """

    kind: ClassVar[Kind]

    @property
    def document(self) -> Document | None: ...
    @property
    def errors(self) -> list[Problem]: ...
    @property
    def warnings(self) -> list[Problem]: ...
    @property
    def secrets(self) -> list[Problem]: ...
    @property
    def notes(self) -> list[FieldProblem]: ...
    @property
    def valid(self) -> bool: ...


Text = TypeVar("Text", bound=CheckedText)
Runs = TypeVar("Runs")


class EditorState(ABC, Generic[Text, Runs]):
    """The state of an editing page. ``runs`` is what the engine runs under the document, ``None`` where it cannot."""

    document: str
    process: Json
    checked: Text

    @property
    @abstractmethod
    def runs(self) -> Runs | None: ...

    @property
    def query(self) -> dict[str, str]:
        """What the page's address says of what is shown."""
        return {}

    def draw(self, panels: Callable[[Any], Mapping[str, object]]) -> bool:
        """Put panels beside the plugins that have one; whether there is any."""
        return False

    def previewed(self) -> dict[str, Any]:
        """What the parts that follow every change show beside the editor itself."""
        return {}

    def explained(self) -> dict[str, Any]:
        """What the page of the effective configuration shows beside the editor itself."""
        return {}


class Dialect(ABC, Generic[Text, Runs]):
    """``process`` says how kube-scheduler was started, and is empty where a document does not need that."""

    kind: ClassVar[Kind]
    templates: ClassVar[str]  # the folder of its pages
    file_word: ClassVar[str]  # what a download is called
    has_profiles: ClassVar[bool]  # whether live schedulers, extenders and simulations can run it
    is_convertible: ClassVar[bool]  # whether it can be made into profiles
    takes_process: ClassVar[bool]
    defaults: ClassVar[str]  # the document that says nothing beyond kube-scheduler's defaults

    @abstractmethod
    def check(self, text: str, process: Mapping[str, Any]) -> Text:
        """Read ``text`` as kube-scheduler would; never raises for bad input."""

    @abstractmethod
    def load(self, text: str, process: Mapping[str, Any]) -> Runs:
        """What the engine runs; ValueError where the document is not valid."""

    @abstractmethod
    def changes(self, old: Text, new: Text) -> list[PolicyChange]:
        """What ``new`` makes kube-scheduler do otherwise than ``old``; nothing where one of them cannot run."""

    def deviations(self, checked: Text) -> list[PolicyChange]:
        """What ``checked`` does otherwise than kube-scheduler by default."""
        return self.changes(self.check(self.defaults, {}), checked)

    @abstractmethod
    def effective(self, checked: Text) -> Json:
        """What runs in the end, as REST tells it."""

    def kept(self, process: Mapping[str, Any]) -> Json:
        """``process`` as it is stored."""
        return {}

    def file_form(self, text: str) -> str:
        """Whether the file with ``text`` is "yaml" or "json"."""
        return "yaml"

    @abstractmethod
    def schema(self) -> Json:
        """The JSON Schema of its documents, for completion in the editor."""

    @abstractmethod
    def opened(self, text: str, process: Mapping[str, Any], profile: int = 0) -> EditorState[Text, Runs]:
        """The editor as it is shown for a saved document."""

    @abstractmethod
    def posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> EditorState[Text, Runs]:
        """The editor after a person changed something; ``process`` was saved last."""
