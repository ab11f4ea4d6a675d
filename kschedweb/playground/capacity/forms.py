"""Forms of the capacity pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from kschedweb.engine.studies.capacity.buffer import LOWEST_PRIORITY
from kschedweb.engine.studies.capacity.drain import Options
from kschedweb.engine.studies.capacity.gangs import MOST_GANGS
from kschedweb.engine.studies.trying.node_change import NodeChange
from kschedweb.playground.capacity import selectors
from kschedweb.playground.capacity.queries import (
    MOST_ADDED,
    MOST_COPIES,
    MOST_DRAINED,
    MOST_IN_GANG,
    MOST_NODES,
    MOST_PODS,
    BufferQuery,
    DrainQuery,
    FitQuery,
    GangsQuery,
    NodesQuery,
    NodeTypeQuery,
    PodQuery,
)
from kschedweb.web.errors import ApplicationError
from kschedweb.web.form_fields import SEPARATORS, AmountsField, PairsField, QuantityField
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.queries import CapacityQuery


class NamesWidget(forms.Textarea):
    """Names with spaces, commas or lines between; an address may instead repeat the parameter for each name."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        return " ".join(data.getlist(name)) if isinstance(data, QueryDict) else data.get(name)


class NodesField(forms.CharField):
    """Names of nodes, at most MOST_DRAINED."""

    def __init__(self, label: str, rows: int) -> None:
        widget = NamesWidget(attrs={"rows": rows, "spellcheck": "false", "class": "wide"})
        help_text = _("Names with spaces, commas or lines between.")
        super().__init__(label=label, help_text=help_text, required=False, max_length=100_000, widget=widget)

    def clean(self, value: Any) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(_split_names(super().clean(value))))
        if len(names) > MOST_DRAINED:
            raise forms.ValidationError(
                gettext("At most %(most)s nodes at a time; these are %(number)s.")
                % {"most": f"{MOST_DRAINED:,}", "number": f"{len(names):,}"}
            )
        return names


class ZonesField(forms.CharField):
    """The zones of new nodes."""

    def __init__(self) -> None:
        help_text = _("New nodes go to these in turn. Leave empty to take the zone from above.")
        super().__init__(label=_("Zones"), help_text=help_text, required=False, max_length=1000)

    def clean(self, value: Any) -> tuple[str, ...]:
        return _split_names(super().clean(value))


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in SEPARATORS.split(text) if name)


def _like_field(help_text: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"list": "node-names", "autocomplete": "off", "class": "wide"})
    return forms.CharField(
        label=_("New nodes like"), required=False, max_length=253, widget=widget, help_text=help_text
    )


def _ask_field() -> forms.CharField:
    """Return a field that tells a form that was sent without any other from a first visit."""
    return forms.CharField(required=False, widget=forms.HiddenInput, initial="1")


def _workload_field() -> forms.CharField:
    widget = forms.TextInput(attrs={"list": "workloads", "autocomplete": "off", "spellcheck": "false", "class": "wide"})
    return forms.CharField(
        label=_("Like a workload or pod"),
        required=False,
        max_length=600,
        widget=widget,
        help_text=_("Type a part of its name and choose."),
    )


def _cpu_field(help_text: str) -> QuantityField:
    return QuantityField("CPU", help_text, "500m")


def _memory_field(help_text: str) -> QuantityField:
    return QuantityField(_("Memory"), help_text, "1Gi")


def _manifest_field() -> forms.CharField:
    return forms.CharField(
        label=_("Or its manifest"),
        required=False,
        max_length=6000,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "code"}),
        help_text=_("YAML or JSON of a Pod, or of a workload with a template."),
    )


def _limit_field(limit: int, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(label=_("At most"), required=False, min_value=1, max_value=limit, help_text=help_text)


class QuestionForm(forms.Form):
    """The form of a question about capacity."""

    # Fields of which one at least is filled in by who asks.
    asks: ClassVar[tuple[str, ...]]

    @property
    def is_submitted(self) -> bool:
        """True if the form asks anything."""
        return any(self.data.get(name) for name in self.asks)

    def to_query(self, snapshot: Snapshot) -> CapacityQuery:
        """Return the question; raise ApplicationError, which names the field."""
        raise NotImplementedError


class _PodForm(QuestionForm):
    asks: ClassVar[tuple[str, ...]] = ("workload", "cpu", "memory", "other", "manifest")
    workload = _workload_field()
    cpu = _cpu_field(_("CPU that each pod requests, such as 2 or 500m."))
    memory = _memory_field(_("Memory that each pod requests, such as 1Gi. A plain number is bytes."))
    other = AmountsField(
        _("Other resources"), _("Such as nvidia.com/gpu=1, several with spaces between."), "nvidia.com/gpu=1"
    )
    manifest = _manifest_field()

    def pod_query(self) -> PodQuery:
        data = self.cleaned_data
        amounts = [(name, data[name]) for name in ("cpu", "memory") if data.get(name)]
        return PodQuery(data["workload"].strip(), data["manifest"].strip(), (*amounts, *data["other"]))

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        # Each way by the field at which an error is shown.
        ways = {
            "workload": bool(data.get("workload")),
            "manifest": bool(data.get("manifest")),
            "cpu": any(data.get(name) for name in ("cpu", "memory", "other")),
        }
        if sum(ways.values()) > 1:
            last = [name for name, filled in ways.items() if filled][-1]
            self.add_error(last, gettext("Choose pods in one way only: by workload, manifest or requests."))
        return data


class FitForm(_PodForm):
    """The form for the number of pods of a shape that still fit."""

    limit = _limit_field(MOST_PODS, _("Stop counting at this many pods. Leave empty for 10,000."))

    def to_query(self, snapshot: Snapshot) -> FitQuery:
        return FitQuery(self.pod_query(), self.cleaned_data["limit"] or FitQuery.limit)


class GangsForm(_PodForm):
    """The form for the number of gangs of pods that still fit."""

    pods = forms.IntegerField(label=_("Pods of a gang"), min_value=1, max_value=MOST_IN_GANG)
    least = forms.IntegerField(
        label=_("Pods that must start together"),
        required=False,
        min_value=1,
        max_value=MOST_IN_GANG,
        help_text=_("The gang's minCount. Leave empty for all of them."),
    )
    topology = forms.CharField(
        label=_("In one domain of"),
        required=False,
        max_length=317,
        widget=forms.TextInput(
            attrs={"placeholder": "topology.kubernetes.io/zone", "spellcheck": "false", "class": "wide"}
        ),
        help_text=_(
            "A label of nodes: all pods of a gang go to nodes with the same value. Leave empty to let them go anywhere."
        ),
    )
    limit = _limit_field(MOST_GANGS, _("Stop counting at this many gangs. Leave empty for 1,000."))

    def to_query(self, snapshot: Snapshot) -> GangsQuery:
        data = self.cleaned_data
        limit = data["limit"] or GangsQuery.limit
        return GangsQuery(self.pod_query(), data["pods"], data["least"] or 0, data["topology"].strip(), limit)


class NodesForm(_PodForm):
    """The form for the number of nodes of a type that must be added."""

    asks = ("ask", "like", "node_cpu", "copies")
    pending = forms.BooleanField(label=_("The pods that are pending now"), required=False, initial=True)
    copies = forms.IntegerField(
        label=_("And this many more"),
        required=False,
        min_value=1,
        max_value=MOST_COPIES,
        help_text=_("Pods of the shape below."),
    )
    like = _like_field(_("Type a part of a node's name and choose. Or describe one below."))
    node_cpu = _cpu_field(_("CPU of a node, such as 16 or 15500m."))
    node_memory = _memory_field(_("Memory of a node, such as 64Gi. A plain number is bytes."))
    node_other = AmountsField(_("Other resources of a node"), _("Such as nvidia.com/gpu=8 pods=110."), "pods=110")
    labels = PairsField(_("Labels of a node"), _("Such as pool=gpu, several with spaces between."), "pool=gpu")
    zones = ZonesField()
    most = _limit_field(MOST_NODES, _("Try at most this many new nodes. Leave empty for 1,000."))
    ask = _ask_field()

    def clean(self) -> dict[str, object]:
        data = super().clean()
        amounts = any(data.get(name) for name in ("node_cpu", "node_memory", "node_other"))
        if data.get("like") and amounts:
            self.add_error("like", gettext("Choose a node of the cluster or describe one, not both."))
        if not data.get("like") and not amounts and "like" not in self.errors:
            self.add_error("like", gettext("Choose a node of the cluster, or describe one."))
        shaped = any(data.get(name) for name in _PodForm.asks)
        if data.get("copies") and not shaped:
            self.add_error("workload", gettext("Choose which pods to add: a workload, a manifest or requests."))
        if shaped and not data.get("copies") and "copies" not in self.errors:
            self.add_error("copies", gettext("Enter how many such pods to add."))
        if not data.get("pending") and not data.get("copies") and not shaped:
            self.add_error("pending", gettext("Choose the pending pods, further pods, or both."))
        return data

    def to_query(self, snapshot: Snapshot) -> NodesQuery:
        data = self.cleaned_data
        amounts = [(name, data[f"node_{name}"]) for name in ("cpu", "memory") if data.get(f"node_{name}")]
        node = NodeTypeQuery(data["like"].strip(), (*amounts, *data["node_other"]), data["labels"], data["zones"])
        pod, copies = self.pod_query(), data["copies"] or 0
        return NodesQuery(node, data["pending"], pod, copies, data["most"] or NodesQuery.most)


class DrainForm(QuestionForm):
    """The form for a drain rehearsal."""

    asks = ("nodes", "zone")
    nodes = NodesField(_("Nodes to empty"), rows=3)
    zone = forms.CharField(label=_("Or all nodes of a zone"), required=False, max_length=253)
    emptydir = forms.BooleanField(
        label=_("Delete data in emptyDir volumes"), required=False, help_text=_("As --delete-emptydir-data does.")
    )
    force = forms.BooleanField(
        label=_("Delete pods without controller"),
        required=False,
        help_text=_("As --force does; nothing replaces them."),
    )
    keep_order = forms.BooleanField(label=_("Keep the order above"), required=False)

    def to_query(self, snapshot: Snapshot) -> DrainQuery:
        data = self.cleaned_data
        names = tuple(dict.fromkeys((*data["nodes"], *_nodes_of_zone(snapshot, data["zone"]))))
        # DaemonSet pods are always ignored, since no drain gets far without --ignore-daemonsets.
        return DrainQuery(names, Options(True, data["emptydir"], data["force"]), data["keep_order"])


class BufferForm(QuestionForm):
    """The form for the loss of a zone, or of the largest nodes."""

    asks = ("ask", "zones", "largest")
    zones = forms.BooleanField(label=_("Lose each zone, one at a time"), required=False, initial=True)
    largest = forms.IntegerField(
        label=_("Lose this many of the largest nodes at once"),
        required=False,
        min_value=0,
        max_value=MOST_NODES,
        help_text=_("Those with most CPU, then memory."),
    )
    priority = forms.IntegerField(
        label=_("Lowest priority that counts"),
        required=False,
        min_value=LOWEST_PRIORITY,
        max_value=-LOWEST_PRIORITY - 1,
        help_text=_("Leave empty to count all pods. Pods below it may be evicted for them."),
    )
    ask = _ask_field()

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        if not data.get("zones") and not data.get("largest") and "largest" not in self.errors:
            self.add_error("zones", gettext("Choose the zones, a number of nodes, or both."))
        return data

    def to_query(self, snapshot: Snapshot) -> BufferQuery:
        data = self.cleaned_data
        priority = LOWEST_PRIORITY if data["priority"] is None else data["priority"]
        return BufferQuery(data["zones"], data["largest"] or 0, priority)


class ChangeForm(QuestionForm):
    """The form for nodes that are lost or added."""

    asks = ("ask", "zone", "nodes", "added")
    zone = forms.CharField(label=_("Lose all nodes of a zone"), required=False, max_length=253)
    nodes = NodesField(_("Lose these nodes"), rows=2)
    added = forms.IntegerField(
        label=_("Add this many nodes"),
        required=False,
        min_value=0,
        max_value=MOST_ADDED,
        help_text=_("Copies of a node."),
    )
    like = _like_field(_("Type a part of a node's name and choose."))
    zones = ZonesField()
    ask = _ask_field()

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        if not any(data.get(name) for name in ("zone", "nodes", "added")) and not self.errors:
            self.add_error("zone", gettext("Choose nodes to lose, or how many to add."))
        if data.get("added") and not data.get("like") and "like" not in self.errors:
            self.add_error("like", gettext("Choose the node that new ones are like."))
        return data

    def to_query(self, snapshot: Snapshot) -> NodeChange:
        data = self.cleaned_data
        names = (*data["nodes"], *_nodes_of_zone(snapshot, data["zone"]))
        added = data["added"] or 0
        return NodeChange(
            tuple(dict.fromkeys(names)), data["like"].strip() if added else "", added, data["zones"] if added else ()
        )


def _nodes_of_zone(snapshot: Snapshot, zone: str) -> list[str]:
    """Return the nodes of ``zone``, none for ""; raise ApplicationError if it has none."""
    names = selectors.nodes_in(snapshot, zone)
    if zone and not names:
        raise ApplicationError.at("zone", f"No node is in zone {zone}.")
    return names


def fields_of(query: CapacityQuery) -> dict[str, object]:
    """Return the form data for the question ``query``."""
    if isinstance(query, NodeChange):
        added = {"added": query.added or None, "like": query.like, "zones": " ".join(query.zones)}
        return {"nodes": " ".join(query.lost), **added}
    if isinstance(query, FitQuery):
        return {**_pod_fields(query.pod), "limit": query.limit}
    if isinstance(query, GangsQuery):
        fields = {"pods": query.pods, "least": query.least or None, "topology": query.topology, "limit": query.limit}
        return {**_pod_fields(query.pod), **fields}
    if isinstance(query, BufferQuery):
        priority = None if query.priority == LOWEST_PRIORITY else query.priority
        return {"zones": query.zones, "largest": query.largest or None, "priority": priority}
    if isinstance(query, DrainQuery):
        options = {"emptydir": query.options.delete_emptydir_data, "force": query.options.force}
        return {"nodes": " ".join(query.nodes), "keep_order": query.keep_order, **options}
    node, pods = query.node, {"pending": query.pending, "copies": query.copies or None, "most": query.most}
    room = {f"node_{name}": amount for name, amount in _amount_fields(node.allocatable).items()}
    labels = " ".join(f"{name}={value}" for name, value in node.labels)
    return {
        **_pod_fields(query.pod),
        **pods,
        **room,
        "like": node.like,
        "labels": labels,
        "zones": " ".join(node.zones),
    }


def _pod_fields(pod: PodQuery) -> dict[str, str]:
    return {"workload": pod.workload, "manifest": pod.manifest, **_amount_fields(pod.requests)}


def _amount_fields(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    amounts = {name: amount for name, amount in pairs if name in ("cpu", "memory")}
    return {**amounts, "other": " ".join(f"{name}={amount}" for name, amount in pairs if name not in amounts)}
