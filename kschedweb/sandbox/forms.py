"""The forms of the sandbox."""

from __future__ import annotations

from django import forms

from kschedweb.sandbox.selectors import SPEEDS
from kschedweb.sandbox.services import LIMITS

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
        label="Speed",
        coerce=int,
        choices=[(factor, f"{factor}×") for factor in SPEEDS],
        help_text="How many times as fast as a clock.",
    )


class CreateForm(forms.Form):
    """Objects as text."""

    text = forms.CharField(
        label="YAML or JSON",
        max_length=LIMITS.size,
        initial=EXAMPLE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "code"}),
        help_text="One object or several. Without a namespace they go to <code>default</code>. A pod is placed by the "
        "scheduler that it names: <code>guarded</code> asks people about payments, <code>extended</code> asks this "
        "site as an extender, and <code>default-scheduler</code> is a stock kube-scheduler.",
    )
