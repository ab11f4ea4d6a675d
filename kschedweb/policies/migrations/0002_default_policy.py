"""The policy `default`: what kube-scheduler does where nobody configured anything."""

from django.db import migrations

DOCUMENT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
"""


def create(apps, schema_editor):
    policy, created = apps.get_model("policies", "Policy").objects.get_or_create(
        name="default", defaults={"description": "The policy that pages show where none is chosen."}
    )
    if created:
        apps.get_model("policies", "Revision").objects.create(
            policy=policy, number=1, document=DOCUMENT, comment="kube-scheduler's defaults"
        )


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_initial")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
