"""The plain forms of the policy pages; the structured editor is form.py."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.catalogue import GATES, V1_9, V1_13
from kschedweb.policies.classic.sources import KEY, NAMESPACE, ConfigMapSource
from kschedweb.policies.models import Policy
from kschedweb.policies.selectors import DEFAULT_POLICY, policy_list, revision_get
from kschedweb.policies.services import NAME_HELP
from kschedweb.web.errors import ApplicationError
from kschedweb.web.translating import gettext_lazy as _


class PolicyCreateForm(forms.Form):
    """A new policy from a copy, a file, or pasted text. ``cleaned_data["text"]`` has the document."""

    name = forms.CharField(max_length=63, label=_("Name"), help_text=_(NAME_HELP))
    description = forms.CharField(max_length=500, required=False, label=_("Description"))
    copy_of = forms.ModelChoiceField(
        Policy.objects.none(),
        to_field_name="name",
        required=False,
        label=_("Start from a copy of"),
        help_text=_("Its newest revision."),
        empty_label=_("None: use the source below"),
    )
    file = forms.FileField(
        required=False,
        label=_("Or upload a file"),
        help_text=_(
            "A KubeSchedulerConfiguration (v1, or a version before it, which is converted), a classic Policy, "
            "crane-scheduler's DynamicSchedulerPolicy, a DeschedulerPolicy or a document of kind Karpenter, YAML or "
            "JSON, up to 1 MiB."
        ),
    )
    document = forms.CharField(
        required=False,
        strip=False,
        label=_("Or paste it"),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    source_name = forms.CharField(
        max_length=253,
        required=False,
        label=_("Name of the ConfigMap"),
        help_text=_("Read once, with the cluster's credentials. They need permission to get it."),
    )
    source_cluster = forms.ModelChoiceField(
        Cluster.objects.none(),
        to_field_name="name",
        required=False,
        label=_("Cluster"),
        empty_label=_("Choose a cluster"),
    )
    source_namespace = forms.CharField(max_length=63, required=False, initial=NAMESPACE, label=_("Namespace"))
    source_key = forms.CharField(max_length=253, required=False, initial=KEY, label=_("Key"))
    version = forms.ChoiceField(
        choices=[(V1_13, V1_13), (V1_9, V1_9)],
        required=False,
        label=_("Version"),
        help_text=_("For classic policies only."),
    )
    gates = forms.MultipleChoiceField(
        choices=[(gate, gate) for gate in sorted(GATES)],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Feature gates that are on"),
    )
    comment = forms.CharField(max_length=500, required=False, label=_("Comment on revision 1"))
    # The text of the uploaded file.
    uploaded = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["copy_of"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_list()
        field.initial = field.initial or DEFAULT_POLICY
        clusters = self.fields["source_cluster"]
        assert isinstance(clusters, forms.ModelChoiceField)
        clusters.queryset = Cluster.objects.filter(source__in=CONNECTED).order_by("name")

    def clean_file(self) -> str:
        upload = self.cleaned_data.get("file")
        if not upload:
            return ""
        if upload.size > SIZE_LIMIT:
            raise forms.ValidationError(
                gettext("The file is larger than 1 MiB. A scheduler configuration is much smaller.")
            )
        try:
            self.uploaded = str(upload.read().decode("utf-8"))
        except UnicodeDecodeError:
            raise forms.ValidationError(gettext("The file is not text in UTF-8.")) from None
        return self.uploaded

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return data
        pasted = data.get("document", "").strip()
        if data.get("source_name"):
            self._read_config_map(data, has_document=bool(data.get("file") or pasted))
        elif data.get("file") and pasted:
            self.add_error("document", gettext("Choose the file or the text, not both."))
        elif data.get("file") or pasted:
            data["text"] = data["file"] or data["document"]
        elif data.get("copy_of"):
            copied = revision_get(data["copy_of"])
            data["text"], data["process"] = copied.document, copied.process
        else:
            self.add_error("copy_of", gettext("Choose a policy, upload a file, or paste a document."))
        return data

    def _read_config_map(self, data: dict[str, Any], *, has_document: bool) -> None:
        """Read the ConfigMap, unless another document is given as well."""
        if has_document:
            self.add_error("source_name", gettext("Choose only one source: file, text or ConfigMap."))
        elif not data.get("source_cluster"):
            self.add_error("source_cluster", gettext("Choose the cluster that has the ConfigMap."))
        else:
            source = ConfigMapSource(
                data["source_cluster"].name,
                data["source_name"],
                data.get("source_namespace") or NAMESPACE,
                data.get("source_key") or KEY,
            )
            try:
                data["text"], data["source"] = source.read_document(), str(source)
            except ApplicationError as error:
                for item in error.errors or [{"path": "", "message": error.detail}]:
                    field = item["path"].replace("source.", "source_")
                    self.add_error(field if field in self.fields else None, item["message"])

    def keep_file(self) -> None:
        """Show the text of an uploaded file as if it were pasted, because browsers do not send a file again."""
        if self.uploaded and isinstance(self.data, QueryDict):
            self.data = data = self.data.copy()
            data["document"] = self.uploaded

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in ("name", "description", "copy_of", "file", "document")]

    @property
    def of_config_map(self) -> list[forms.BoundField]:
        return [self[name] for name in ("source_cluster", "source_namespace", "source_name", "source_key")]

    @property
    def reads(self) -> bool:
        """True if the form asks to read a ConfigMap, or has errors about one."""
        return bool(self.data.get("source_name")) or any(field.errors for field in self.of_config_map)

    @property
    def starts(self) -> bool:
        """True if the form has process options of kube-scheduler."""
        return self.data.get("version", V1_13) != V1_13 or "gates" in self.data

    @property
    def process(self) -> Json:
        """The process options of kube-scheduler; by default those of the copied policy."""
        data = self.cleaned_data
        options: Json = {"version": data["version"]} if data.get("version") == V1_9 else {}
        options |= {"gates": data["gates"]} if data.get("gates") else {}
        return options or data.get("process") or {}
