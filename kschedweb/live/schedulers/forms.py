"""The forms of live schedulers."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.live.schedulers.models import LiveScheduler, Lock, Mode
from kschedweb.live.schedulers.services import CHANGEABLE, MOST_STEPS, NAME_HELP
from kschedweb.policies.dialects import WITH_PROFILES
from kschedweb.policies.models import Policy, Revision
from kschedweb.web.translating import gettext_lazy as _

MODE_WORDS = {
    Mode.OFF: _("Nothing is read and nothing is written."),
    Mode.SHADOW: _("What another scheduler decides is judged under the policy. Nothing is written to the cluster."),
    Mode.EXTENDER: _("A kube-scheduler asks this site about its pods and still decides and binds itself."),
    Mode.SCHEDULING: _("Pods that name this scheduler are placed and bound from here."),
}
LIMITS = {
    "qps": (_("Requests per second"), _("To the API server. 50 is kube-scheduler's default, 0 is no limit.")),
    "burst": (_("Requests at once"), _("How many may go out together. 100 is kube-scheduler's default.")),
    "keep_decisions": (_("Decisions to keep"), _("Only the newest are kept.")),
    "keep_days": (_("Days to keep"), _("Older decisions are deleted.")),
    "keep_columns": (
        _("Decisions to keep in full"),
        _(
            "With every verdict and score: this many that bound a pod, and as many that did not. Pods that wait for "
            "approval are always kept in full."
        ),
    ),
}


class RevisionForm(forms.Form):
    """The choice of a policy's revision; ``cleaned_data["revision"]`` is the row."""

    policy = forms.ModelChoiceField(
        Policy.objects.filter(kind__in=WITH_PROFILES).order_by("name"), label=_("Policy"), to_field_name="name"
    )
    revision = forms.CharField(
        label=_("Revision"),
        required=False,
        max_length=9,
        help_text=_("Leave empty for the newest. Later revisions are rolled out separately."),
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        number, policy = cleaned.get("revision", "").strip(), cleaned.get("policy")
        if policy is not None:
            revisions = policy.revisions.select_related("policy").order_by("-number")
            if number:
                revisions = (
                    revisions.filter(number=int(number))
                    if number.isdecimal() and number.isascii()
                    else revisions.none()
                )
            cleaned["revision"] = revisions.first()
            if cleaned["revision"] is None:
                self.add_error(
                    "revision",
                    gettext("Policy %(policy)s has no revision %(number)s.")
                    % {"policy": policy.name, "number": number},
                )
        return cleaned


class RollOutForm(RevisionForm):
    """A revision to roll out; ``expected`` is the one that was in force when the person looked."""

    expected = forms.ModelChoiceField(
        Revision.objects.select_related("policy"), required=False, widget=forms.HiddenInput
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["revision"].label, self.fields["revision"].help_text = _("Revision (empty: the newest)"), ""


class LiveForm(forms.Form):
    """The settings of a live scheduler that people change later, besides its mode and its revision."""

    lock = forms.ChoiceField(
        label=_("Lock"),
        required=False,
        choices=[("", _("as the policy says, else leases")), *((lock.value, lock.value) for lock in Lock)],
        help_text=_(
            "The process that holds the lock leads; the others stand by. To migrate from endpoints to leases, use "
            "endpointsleases in between."
        ),
    )
    lease_namespace = forms.CharField(
        label=_("Namespace of the lock"),
        required=False,
        max_length=63,
        help_text=_("Leave empty for the policy's leaderElection.resourceNamespace, else kube-system."),
    )
    lease_name = forms.CharField(
        label=_("Name of the lock"),
        required=False,
        max_length=253,
        help_text=_(
            "Leave empty for the policy's leaderElection.resourceName, else kschedweb- and the scheduler name."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Bounds and defaults come from the model's fields, so that form and REST accept the same values.
        for name, (label, words) in LIMITS.items():
            field = LiveScheduler._meta.get_field(name)
            bounds = {type(validator): validator.limit_value for validator in field.validators}  # type: ignore[union-attr]
            self.fields[name] = forms.IntegerField(
                label=label,
                help_text=words,
                initial=field.default,  # type: ignore[union-attr]
                min_value=bounds[MinValueValidator],
                max_value=bounds[MaxValueValidator],
            )

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for the services."""
        return {name: self.cleaned_data[name] for name in CHANGEABLE}

    @staticmethod
    def values(live: LiveScheduler) -> dict[str, Any]:
        """Return the settings of ``live`` as the form's initial values."""
        return {name: getattr(live, name) for name in CHANGEABLE}


class NewLiveForm(RevisionForm, LiveForm):
    """The form of a new live scheduler."""

    cluster = forms.ModelChoiceField(
        Cluster.objects.none(),
        label=_("Cluster"),
        to_field_name="name",
        empty_label=_("Choose one"),
    )
    scheduler_name = forms.CharField(
        label=_("Scheduler name"),
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=Mode.choices,
        initial=Mode.OFF,
        widget=forms.RadioSelect,
    )
    field_order = ("cluster", "scheduler_name", "mode", "policy", "revision", "lock", "lease_namespace", "lease_name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["cluster"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = Cluster.objects.filter(source__in=CONNECTED).order_by("name")
        self.fields["scheduler_name"].help_text = " ".join(
            (gettext("As pods say it in spec.schedulerName."), gettext(NAME_HELP))
        )
        modes = self.fields["mode"]
        assert isinstance(modes, forms.ChoiceField)
        modes.choices = [
            (mode.value, gettext("%(of)s: %(note)s") % {"of": mode.label, "note": words})
            for mode, words in MODE_WORDS.items()
        ]


class ModeForm(forms.Form):
    mode = forms.ChoiceField(choices=Mode.choices)


class NeedsForm(forms.Form):
    mode = forms.ChoiceField(choices=[choice for choice in Mode.choices if choice[0] != Mode.OFF])


class StepForm(forms.Form):
    pods = forms.IntegerField(label=_("Pods"), min_value=1, max_value=MOST_STEPS, initial=1)
