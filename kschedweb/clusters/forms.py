"""The forms for connecting and importing clusters."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext, gettext_noop

from kschedweb.clusters.connecting.kubeconfig import LIMITS, KubeconfigError, kubeconfig_contexts
from kschedweb.clusters.importing.uploads import read_pieces
from kschedweb.clusters.models import ClusterSource
from kschedweb.clusters.refresh_schedule import MOST_MINUTES
from kschedweb.clusters.services import NAME
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.clusters.importing.uploads import Files
    from kschedweb.web.errors import ApplicationError

NAME_HELP = gettext_noop("Lower-case letters, digits and hyphens, such as production-eu.")


class SecretTextarea(forms.Textarea):
    """A text that is never sent back to the browser, not even with an error."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, object]:
        return super().get_context(name, None, attrs)


def name_field() -> forms.RegexField:
    return forms.RegexField(
        NAME.pattern,
        strip=True,
        label=_("Name"),
        max_length=63,
        help_text=_(NAME_HELP),
        error_messages={"invalid": _("Use lower-case letters, digits and hyphens, at most 63.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


def ca_field(empty: str) -> forms.CharField:
    """Return the field for a certificate authority; ``empty`` says what is used without one."""
    return forms.CharField(
        label=_("Certificate authority"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=f"PEM. Empty: {empty}.",
    )


class CredentialsForm(forms.Form):
    """New credentials for a cluster's server: a token, or a kubeconfig."""

    # Fields that no page sends back.
    secrets = ("token", "kubeconfig", "kubeconfig_file")

    token = forms.CharField(
        label=_("Token"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("As kubectl create token prints it. It needs only the verbs list and watch."),
    )
    ca = ca_field("the one that is stored")
    kubeconfig = forms.CharField(
        label=_("Kubeconfig"),
        required=False,
        max_length=LIMITS.size,
        widget=SecretTextarea(attrs={"rows": 8, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_(
            "As kubectl config view --raw --flatten --minify prints it. Exec plugins, auth providers, file references "
            "and proxies are refused."
        ),
    )
    kubeconfig_file = forms.FileField(label=_("Or the file"), required=False)
    context = forms.CharField(
        label=_("Context"), required=False, max_length=253, help_text=_("Leave empty for the current context.")
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.pop("kubeconfig_file", None)
        if upload and self.takes_kubeconfig(cleaned):
            self._read_upload(upload, cleaned)
        return cleaned

    def takes_kubeconfig(self, cleaned: dict[str, Any]) -> bool:
        """Return whether the kubeconfig is used."""
        return True

    def tell_emptied(self) -> None:
        """Say at secret fields that they are empty now, because a page with errors does not show them again."""
        for name in self.secrets:
            if self.data.get(name) or self.files.get(name):
                field = self[name]
                field.help_text = f"Emptied, since it is secret: give it again. {field.help_text}".rstrip()

    def _read_upload(self, upload: Any, cleaned: dict[str, Any]) -> None:
        if cleaned.get("kubeconfig"):
            self.add_error("kubeconfig", gettext("Paste the kubeconfig or choose the file, not both."))
        elif upload.size > LIMITS.size:
            self.add_error("kubeconfig_file", gettext("The file is larger than a kubeconfig can be (1 MiB)."))
        else:
            try:
                cleaned["kubeconfig"] = upload.read().decode("utf-8")
            except UnicodeDecodeError:
                self.add_error("kubeconfig_file", gettext("The file is not text."))


class ConnectForm(CredentialsForm):
    """One form for three ways to connect. The radio buttons choose the part that is used."""

    source = forms.ChoiceField(
        label=_("How to connect"),
        choices=[
            (source.value, source.label)
            for source in (ClusterSource.KUBECONFIG, ClusterSource.TOKEN, ClusterSource.IN_CLUSTER)
        ],
        initial=ClusterSource.KUBECONFIG,
        widget=forms.RadioSelect,
    )
    name = name_field()
    server = forms.CharField(
        label=_("Server"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "https://…:6443"}),
    )
    ca = ca_field("the certificate authorities of this system")
    # The fields that the page shows for each source. Errors of other fields are shown at the first of them.
    fields_by_source = {
        ClusterSource.KUBECONFIG: ("kubeconfig", "context"),
        ClusterSource.TOKEN: ("server", "token", "ca"),
    }

    def add_service_errors(self, error: ApplicationError) -> None:
        """Show a service's errors at fields of the chosen source; those of other fields stand above the form, too."""
        shown_fields = self.fields_by_source.get(self.cleaned_data["source"], ())
        for item in error.errors or [{"path": "", "message": error.detail}]:
            if item["path"] in (*shown_fields, "name", "source"):
                self.add_error(item["path"], item["message"])
                continue
            self.add_error(None, item["message"])
            if shown_fields:
                self.add_error(shown_fields[0], item["message"])

    def offer_contexts(self) -> None:
        """Make the contexts of the kubeconfig a choice, if it is how to connect and can be read."""
        if not self.takes_kubeconfig(self.cleaned_data):
            return
        try:
            names = kubeconfig_contexts(self.cleaned_data.get("kubeconfig", ""))
        except KubeconfigError:
            return
        choices = [("", _("The current context")), *((name, name) for name in names)]
        self.fields["context"].widget = forms.Select(choices=choices)

    def takes_kubeconfig(self, cleaned: dict[str, Any]) -> bool:
        return cleaned.get("source") == ClusterSource.KUBECONFIG

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        failed_fields = self.errors.keys() & {"kubeconfig", "kubeconfig_file"}
        if self.takes_kubeconfig(cleaned) and not cleaned.get("kubeconfig") and not failed_fields:
            self.add_error("kubeconfig", gettext("Paste a kubeconfig or choose its file."))
        if cleaned.get("source") == ClusterSource.TOKEN:
            for name in ("server", "token"):
                if not cleaned.get(name) and name not in self.errors:
                    self.add_error(name, gettext("This is needed to connect with a token."))
        return cleaned


class AddressForm(forms.Form):
    """An entry for the allowlist of clusters."""

    entry = forms.CharField(
        label=_("Address, network or name"),
        max_length=255,
        widget=forms.TextInput(attrs={"placeholder": "10.20.0.0/16", "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("An IP address, network, host name or *.suffix. Names admit public addresses only."),
    )


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Any number of files, as a list."""

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        single = super().clean
        return [single(entry, initial) for entry in data or []]


class ImportForm(forms.Form):
    name = name_field()
    file = FilesField(
        label=_("Files"),
        required=False,
        allow_empty_file=True,
        widget=FilesInput(attrs={"accept": ".json,.yaml,.yml,.txt"}),
        help_text=_("One or several: lists from kubectl, several YAML documents, exports of kube-scheduler-simulator."),
    )
    text = forms.CharField(
        label=_("Or paste"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
    )
    version = forms.CharField(
        label=_("Version of Kubernetes"),
        required=False,
        max_length=64,
        help_text=_("Such as 1.34. If empty, it is taken from a file or guessed from the kubelets."),
    )
    replace = forms.BooleanField(
        label=_("Replace the earlier import of this name"),
        required=False,
        help_text=_("Keeps up to five earlier snapshots."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not cleaned.get("file") and not (cleaned.get("text") or "").strip():
            self.add_error("file", gettext("Choose a file or paste a text."))
        return cleaned

    def uploaded_files(self) -> Files:
        """Yield the uploaded files as (name, content)."""
        for file in self.cleaned_data["file"]:
            yield file.name or "file", read_pieces(file)
        if self.cleaned_data["text"].strip():
            yield "text", read_pieces(BytesIO(self.cleaned_data["text"].encode(errors="surrogatepass")))


class LabelsForm(forms.Form):
    """The labels of a cluster, by which grants name many clusters."""

    labels = forms.CharField(
        label=_("Labels"),
        max_length=2600,
        required=False,
        help_text=_("key=value, separated by commas."),
    )

    def clean_labels(self) -> dict[str, str]:
        labels: dict[str, str] = {}
        for pair in filter(None, (part.strip() for part in self.cleaned_data["labels"].split(","))):
            key, equals, value = pair.partition("=")
            if not equals:
                raise forms.ValidationError(_("Write key=value, such as env=prod."))
            labels[key] = value
        return labels


class ScheduleForm(forms.Form):
    """The interval after which a connected cluster is read again."""

    refresh_minutes = forms.IntegerField(
        label=_("Read every (minutes)"),
        min_value=0,
        max_value=MOST_MINUTES,
        help_text=_("0: only on request."),
    )
