"""The interface of a policy's dialect: reading, checking, comparing and editing its documents.

``kinds`` has the implementations. Code that has a policy uses its ``dialect`` and never checks its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from django.db import models

from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.engine.config.notes import Conversion
    from kschedweb.engine.documents.marked_documents import MarkedDocument, MarkedProblem
    from kschedweb.policies.diff import PolicyChange
    from kschedweb.web.errors import FieldProblem

Json = dict[str, Any]
NO_QUERY: Mapping[str, str] = MappingProxyType({})


class PolicyKind(models.TextChoices):
    """The kind of all documents of a policy."""

    PROFILES = "profiles", _("Profiles (KubeSchedulerConfiguration)")
    CLASSIC = "classic", _("Classic (Policy)")
    CRANE = "crane", "crane-scheduler (DynamicSchedulerPolicy)"
    DESCHEDULER = "descheduler", "Descheduler (DeschedulerPolicy)"
    KARPENTER = "karpenter", "Karpenter (NodePools)"


class CheckedText(Protocol):
    """A text with the engine's findings; ``document`` is ``None`` if it is not YAML.

    ``secrets`` are problems of private keys and tokens, which must not be stored. ``notes`` say what keeps live
    schedulers from running the document, although it may be saved. ``conversion`` is there for a valid document of a
    version before the one that kube-scheduler reads.
    """

    kind: ClassVar[PolicyKind]

    @property
    def document(self) -> MarkedDocument | None: ...
    @property
    def errors(self) -> list[MarkedProblem]: ...
    @property
    def warnings(self) -> list[MarkedProblem]: ...
    @property
    def secrets(self) -> list[MarkedProblem]: ...
    @property
    def notes(self) -> list[FieldProblem]: ...
    @property
    def conversion(self) -> Conversion | None: ...
    @property
    def valid(self) -> bool: ...


Text = TypeVar("Text", bound=CheckedText)
Runs = TypeVar("Runs")


class EditorState(ABC, Generic[Text, Runs]):
    """The state of an editor. ``runs`` is what the engine runs for the document; ``None`` if it is invalid."""

    document: str
    process: Json
    checked: Text

    @property
    @abstractmethod
    def runs(self) -> Runs | None: ...

    def with_process(self, process: Json) -> EditorState[Text, Runs]:
        """The same editor where kube-scheduler is started by ``process``; only profiles point at files."""
        return self

    @property
    def process_fields(self) -> dict[str, str]:
        """``process`` as the form posts it."""
        return {}

    @property
    def query(self) -> dict[str, str]:
        """The query of the page's address for what is shown; "" for what is as usual."""
        return {}

    def draw_panels(self, panels: Callable[[Any], Mapping[str, object]]) -> bool:
        """Add the panels of plugins; returns whether there is any."""
        return False

    def preview_context(self) -> dict[str, Any]:
        """Further context of the parts that are reloaded after a change."""
        return {}

    def effective_context(self) -> dict[str, Any]:
        """Further context of the page of the effective configuration."""
        return {}


class Dialect(ABC, Generic[Text, Runs]):
    """A dialect. ``process`` has the start options of kube-scheduler; empty for its defaults."""

    kind: ClassVar[PolicyKind]
    templates: ClassVar[str]  # the folder of its pages
    file_word: ClassVar[str]  # name of a download
    document_word: ClassVar[str]  # what its documents are, with an article
    has_profiles: ClassVar[bool]  # whether live schedulers and extenders can run it
    is_convertible: ClassVar[bool]  # whether it can be converted to profiles
    decides: ClassVar[bool] = True  # whether pods can be placed by it alone
    use: ClassVar[str] = ""  # what to do with one that places no pod
    refused: ClassVar[str] = "kube-scheduler would not take this document."
    defaults: ClassVar[str]  # the document for kube-scheduler's defaults

    @abstractmethod
    def check(self, text: str, process: Mapping[str, Any]) -> Text:
        """Read ``text`` as kube-scheduler does; never raises for bad input."""

    @abstractmethod
    def load(self, text: str, process: Mapping[str, Any]) -> Runs:
        """What the engine runs; raises ValueError for an invalid document."""

    @abstractmethod
    def changes(self, old: Text, new: Text) -> list[PolicyChange]:
        """Differences in behaviour between ``old`` and ``new``; empty if one of them cannot run."""

    def list_deviations(self, checked: Text) -> list[PolicyChange]:
        """Differences of ``checked`` from kube-scheduler's defaults."""
        return self.changes(self.check(self.defaults, {}), checked)

    @abstractmethod
    def render_effective(self, checked: Text) -> Json:
        """The effective configuration in REST's form."""

    def process_to_store(self, process: Mapping[str, Any]) -> Json:
        """``process`` as it is stored."""
        return {}

    def process_on_version(self, process: Mapping[str, Any], version: str) -> Json:
        """``process`` on a cluster of ``version``, which decides what ``process`` does not say."""
        return dict(process)

    def settle_release(self, process: Mapping[str, Any]) -> Json:
        """``process`` with the release that it means today, as records keep it. Raises ValueError."""
        return dict(process)

    def file_form(self, text: str) -> str:
        """Whether the file with ``text`` is "yaml" or "json"."""
        return "yaml"

    @abstractmethod
    def schema(self, process: Mapping[str, Any]) -> Json:
        """The JSON Schema of the documents, for completion in the editor. Raises ReleaseError."""

    @abstractmethod
    def open_editor(
        self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY
    ) -> EditorState[Text, Runs]:
        """The editor for a saved document; ``asked`` is the query of the page's address, which says what is shown."""

    @abstractmethod
    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> EditorState[Text, Runs]:
        """The editor for posted fields; ``process`` is the saved one. Without "base" the form's own are left out."""
