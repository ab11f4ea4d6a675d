import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


DEFAULT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
"""


def create_default_policy(apps, schema_editor):
    """Make the policy `default`: what kube-scheduler does where nobody configured anything."""
    policy = apps.get_model("policies", "Policy").objects.create(
        name="default", description="The policy that pages show where none is chosen."
    )
    apps.get_model("policies", "Revision").objects.create(
        policy=policy, number=1, document=DEFAULT, comment="kube-scheduler's defaults"
    )


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("policies", "0001_initial"),
        ("policies", "0002_default_policy"),
        ("policies", "0003_kinds"),
        ("policies", "0004_database_defaults"),
        ("policies", "0005_crane"),
        ("policies", "0006_descheduler"),
        ("policies", "0007_karpenter"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Policy",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.SlugField(max_length=63, unique=True)),
                ("description", models.CharField(blank=True, max_length=500)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("profiles", "Profiles (KubeSchedulerConfiguration)"),
                            ("classic", "Classic (Policy)"),
                            ("crane", "crane-scheduler (DynamicSchedulerPolicy)"),
                            ("descheduler", "Descheduler (DeschedulerPolicy)"),
                            ("karpenter", "Karpenter (NodePools)"),
                        ],
                        db_default="profiles",
                        default="profiles",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("document", models.TextField()),
                ("process", models.JSONField(db_default={}, default=dict)),
                ("comment", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="policies.policy"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
                "constraints": [
                    models.UniqueConstraint(fields=("policy", "number"), name="revision_number_once_a_policy")
                ],
            },
        ),
        migrations.RunPython(create_default_policy, migrations.RunPython.noop),
    ]
