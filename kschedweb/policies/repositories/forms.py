"""The form of a repository."""

from __future__ import annotations

from django import forms

from kschedweb.policies.repositories.models import Repository
from kschedweb.policies.repositories.services import LEAST_SECONDS, MOST_SECONDS
from kschedweb.web.translating import gettext_lazy as _

FIELDS = ("name", "url", "branch", "drafts", "folder", "username", "interval", "active", "status_url")


class RepositoryForm(forms.Form):
    """The folder and branch of a repository to follow, and the credentials that open it."""

    name = forms.SlugField(max_length=63, label=_("Name"))
    url = forms.CharField(
        max_length=500,
        label=_("Address"),
        widget=forms.TextInput(
            attrs={"placeholder": "https://git.example.com/platform/policies", "spellcheck": "false"}
        ),
        help_text=_("Among those that the operator allows (KSCHEDWEB_REPOSITORY_ALLOWLIST)."),
    )
    branch = forms.CharField(max_length=200, label=_("Branch"), initial="main")
    drafts = forms.CharField(
        max_length=200,
        required=False,
        label=_("Branches to import as drafts"),
        widget=forms.TextInput(attrs={"placeholder": "feature/*", "spellcheck": "false"}),
        help_text=_("Files that differ there become draft policies, which nothing runs. Leave empty for none."),
    )
    folder = forms.CharField(
        max_length=300, required=False, label=_("Folder"), help_text=_("Leave empty for the top folder.")
    )
    username = forms.CharField(max_length=100, required=False, label=_("User name"))
    secret = forms.CharField(
        max_length=500,
        required=False,
        label=_("Token or password"),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Leave empty to keep the stored one. It is never shown again."),
    )
    interval = forms.IntegerField(
        min_value=LEAST_SECONDS, max_value=MOST_SECONDS, initial=60, label=_("Check every (seconds)")
    )
    status_url = forms.CharField(
        max_length=500,
        required=False,
        label=_("Commit statuses go to"),
        widget=forms.TextInput(
            attrs={"placeholder": "https://git.example.com/api/v1/repos/platform/policies", "spellcheck": "false"}
        ),
        help_text=_("The repository's address in its server's API. Leave empty to send none."),
    )
    status_token = forms.CharField(
        max_length=500,
        required=False,
        label=_("Token for statuses"),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Leave empty to keep the stored one. It is never shown again."),
    )
    active = forms.BooleanField(required=False, initial=True, label=_("Follow it"))


def form_of(repository: Repository) -> RepositoryForm:
    """Return the form with the stored values."""
    return RepositoryForm(initial={name: getattr(repository, name) for name in FIELDS})
