"""The interface of a policy's dialect: reading, checking, comparing and editing its documents.

``dialects`` has the implementations. Code that has a policy uses its ``dialect`` and never checks its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from django.db import models

from kschedweb.engine.json_types import Json
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.engine.config.notes import Conversion
    from kschedweb.engine.documents.marked_documents import MarkedDocument, MarkedProblem
    from kschedweb.policies.diff import PolicyChange
    from kschedweb.web.errors import FieldProblem

NO_QUERY: Mapping[str, str] = MappingProxyType({})


class PolicyKind(models.TextChoices):
    """The kind of all documents of a policy."""

    PROFILES = "profiles", _("Profiles (KubeSchedulerConfiguration)")
    CLASSIC = "classic", _("Classic (Policy)")
    CRANE = "crane", "crane-scheduler (DynamicSchedulerPolicy)"
    DESCHEDULER = "descheduler", "Descheduler (DeschedulerPolicy)"
    KARPENTER = "karpenter", "Karpenter (NodePools)"


class CheckedText(Protocol):
    """A text with the engine's findings."""

    kind: ClassVar[PolicyKind]

    # The parsed text; None if it is not YAML.
    @property
    def document(self) -> MarkedDocument | None: ...
    @property
    def errors(self) -> list[MarkedProblem]: ...
    @property
    def warnings(self) -> list[MarkedProblem]: ...
    # Problems of private keys and tokens, which must not be stored.
    @property
    def secrets(self) -> list[MarkedProblem]: ...
    # What keeps live schedulers from running the document, although it may be saved.
    @property
    def notes(self) -> list[FieldProblem]: ...
    # The conversion of a valid document of a version before the one that kube-scheduler reads.
    @property
    def conversion(self) -> Conversion | None: ...
    @property
    def valid(self) -> bool: ...


Text = TypeVar("Text", bound=CheckedText)
Runs = TypeVar("Runs")


class EditorState(ABC, Generic[Text, Runs]):
    """The state of an editor."""

    document: str
    process: Json
    checked: Text

    # What the engine runs for the document; None if it is invalid.
    @property
    @abstractmethod
    def runs(self) -> Runs | None: ...

    def with_process(self, process: Json) -> EditorState[Text, Runs]:
        """Return the same editor for other start options of kube-scheduler. Only profiles depend on them."""
        return self

    @property
    def process_fields(self) -> dict[str, str]:
        """``process`` as the fields that the form posts."""
        return {}

    @property
    def query(self) -> dict[str, str]:
        """The query parameters that say what is shown; "" for one that has its default."""
        return {}

    def draw_panels(self, panels: Callable[[Any], Mapping[str, object]]) -> bool:
        """Add the panels of plugins. Returns whether there is any."""
        return False

    def preview_context(self) -> dict[str, object]:
        """Return further context for the parts that are reloaded after a change."""
        return {}

    def effective_context(self) -> dict[str, object]:
        """Return further context for the page of the effective configuration."""
        return {}


class Dialect(ABC, Generic[Text, Runs]):
    """A dialect. ``process`` has the start options of kube-scheduler; it is empty for the defaults."""

    kind: ClassVar[PolicyKind]
    # The folder of its templates.
    templates: ClassVar[str]
    # The word for a download on its pages, as "YAML".
    file_word: ClassVar[str]
    # Its documents in a sentence, with an article.
    document_word: ClassVar[str]
    # True if live schedulers and extenders can run it.
    has_profiles: ClassVar[bool]
    # True if it can be converted to profiles.
    is_convertible: ClassVar[bool]
    # True if pods can be placed by it alone.
    decides: ClassVar[bool] = True
    # Advice for a policy that places no pod by itself.
    use: ClassVar[str] = ""
    # The message about an invalid document.
    refused: ClassVar[str] = "kube-scheduler would not take this document."
    # The document that stands for kube-scheduler's defaults.
    defaults: ClassVar[str]

    @abstractmethod
    def check(self, text: str, process: Mapping[str, Any]) -> Text:
        """Check ``text`` as kube-scheduler reads it. Bad input never raises; it becomes errors."""

    @abstractmethod
    def load(self, text: str, process: Mapping[str, Any]) -> Runs:
        """Return what the engine runs. Raises ValueError for an invalid document."""

    @abstractmethod
    def changes(self, old: Text, new: Text) -> list[PolicyChange]:
        """Return the differences in behaviour from ``old`` to ``new``; empty if one of them cannot run."""

    def list_deviations(self, checked: Text) -> list[PolicyChange]:
        """Return the differences of ``checked`` from kube-scheduler's defaults."""
        return self.changes(self.check(self.defaults, {}), checked)

    @abstractmethod
    def render_effective(self, checked: Text) -> Json:
        """Return the effective configuration in REST's form."""

    def process_to_store(self, process: Mapping[str, Any]) -> Json:
        """Return ``process`` as it is stored."""
        return {}

    def process_on_version(self, process: Mapping[str, Any], version: str) -> Json:
        """Return ``process`` on a cluster of ``version``, which decides whatever ``process`` leaves open."""
        return dict(process)

    def settle_release(self, process: Mapping[str, Any]) -> Json:
        """Return ``process`` with the release that it means today, as records keep it. Raises ValueError."""
        return dict(process)

    def file_form(self, text: str) -> str:
        """Return the format of a file with ``text``: "yaml" or "json"."""
        return "yaml"

    @abstractmethod
    def schema(self, process: Mapping[str, Any]) -> Json:
        """Return the JSON Schema of the documents, for completion in the editor. Raises ReleaseError."""

    @abstractmethod
    def open_editor(
        self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY
    ) -> EditorState[Text, Runs]:
        """Return the editor for a saved document. ``query`` is the query of the page's address, which says what is
        shown.
        """

    @abstractmethod
    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> EditorState[Text, Runs]:
        """Return the editor for posted fields. ``process`` is the saved one. Without "base" the form's own fields
        are ignored.
        """
