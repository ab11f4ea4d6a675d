"""The forms of the sandbox."""

from __future__ import annotations

from django import forms

from kschedweb.sandbox.selectors import SPEEDS
from kschedweb.sandbox.services import LIMITS
from kschedweb.web.translating import gettext_lazy as _

EXAMPLE = """\
apiVersion: v1
kind: Pod
metadata:
  generateName: mine-
  namespace: payments
spec:
  schedulerName: guarded
  containers:
  - name: main
    image: registry.k8s.io/pause:3.10
    resources:
      requests: {cpu: 500m, memory: 256Mi}
"""


class PaceForm(forms.Form):
    """The speed of the sandbox's time."""

    speed = forms.TypedChoiceField(
        label=_("Speed"),
        coerce=int,
        choices=[(factor, f"{factor}×") for factor in SPEEDS],
        help_text=_("1× is real time."),
    )


class CreateForm(forms.Form):
    """Objects as text."""

    text = forms.CharField(
        label=_("YAML or JSON"),
        max_length=LIMITS.size,
        initial=EXAMPLE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "code"}),
        help_text=_(
            "One or more objects, by default in namespace <code>default</code>. The scheduler that a pod names places "
            "it: <code>guarded</code> asks people about payments, <code>extended</code> asks this site as an extender, "
            "<code>default-scheduler</code> is a stock kube-scheduler."
        ),
    )
