import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("shadow", "0001_initial"),
        ("shadow", "0002_indexes_of_verdicts"),
        ("shadow", "0003_verdict_engine"),
    ]

    dependencies = [
        ("policies", "0001_release_0_1_0"),
        ("scheduling", "0001_release_0_1_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="ShadowVerdict",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("uid", models.CharField(max_length=64)),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("agree", "Agree"),
                            ("differ", "Differ"),
                            ("infeasible", "Infeasible here"),
                            ("would place", "Would be placed here"),
                            ("failed", "Failed here"),
                        ],
                        max_length=16,
                    ),
                ),
                ("node", models.CharField(blank=True, max_length=253)),
                ("said", models.TextField(blank=True)),
                ("best", models.JSONField(default=list)),
                ("ties", models.PositiveIntegerField(default=0)),
                ("feasible", models.PositiveIntegerField(default=0)),
                ("rank", models.PositiveIntegerField(null=True)),
                ("difference", models.BigIntegerField(null=True)),
                ("plugin", models.CharField(blank=True, max_length=253)),
                ("differences", models.JSONField(default=dict)),
                ("message", models.TextField(blank=True)),
                ("late", models.BooleanField(default=False)),
                ("engine", models.CharField(blank=True, db_default="", default="", max_length=20000)),
                (
                    "revision",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="policies.revision",
                    ),
                ),
                (
                    "scheduler",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shadow_verdicts",
                        to="scheduling.livescheduler",
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["scheduler", "-at", "-id"], name="shadow_newest"),
                    models.Index(fields=["scheduler", "verdict", "-at", "-id"], name="shadow_verdict_newest"),
                    models.Index(fields=["scheduler", "namespace", "-at", "-id"], name="shadow_by_namespace"),
                ],
            },
        ),
    ]
