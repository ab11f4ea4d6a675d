"""The plain forms of the policy pages; the structured editor is form.py."""

from __future__ import annotations

from typing import Any

from django import forms

from kschedweb.policies.document import SIZE_LIMIT
from kschedweb.policies.models import Policy
from kschedweb.policies.selectors import DEFAULT_POLICY, policy_list, revision_get
from kschedweb.policies.services import NAME_HELP


class PolicyCreateForm(forms.Form):
    """A new policy from a copy, a file, or pasted text; ``cleaned_data["text"]`` is the document."""

    name = forms.CharField(max_length=63, help_text=NAME_HELP)
    description = forms.CharField(max_length=500, required=False)
    copy_of = forms.ModelChoiceField(
        Policy.objects.none(),
        to_field_name="name",
        required=False,
        label="Start from a copy of",
        help_text="Its newest revision.",
    )
    file = forms.FileField(
        required=False,
        label="Or upload a file",
        help_text="A KubeSchedulerConfiguration v1, YAML or JSON, up to 1 MiB.",
    )
    document = forms.CharField(
        required=False,
        strip=False,
        label="Or paste it",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    comment = forms.CharField(max_length=500, required=False, label="Comment on revision 1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["copy_of"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_list()
        field.initial = field.initial or DEFAULT_POLICY

    def clean_file(self) -> str:
        upload = self.cleaned_data.get("file")
        if not upload:
            return ""
        if upload.size > SIZE_LIMIT:
            raise forms.ValidationError("The file is larger than 1 MiB: a scheduler configuration is much smaller.")
        try:
            return str(upload.read().decode("utf-8"))
        except UnicodeDecodeError:
            raise forms.ValidationError("The file is not text in UTF-8.") from None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return data
        pasted = data.get("document", "").strip()
        if data.get("file") and pasted:
            self.add_error("document", "There is a file as well: give one of them.")
        elif data.get("file") or pasted:
            data["text"] = data["file"] or data["document"]
        elif data.get("copy_of"):
            data["text"] = revision_get(data["copy_of"]).document
        else:
            self.add_error("copy_of", "Choose a policy, upload a file, or paste a document.")
        return data
