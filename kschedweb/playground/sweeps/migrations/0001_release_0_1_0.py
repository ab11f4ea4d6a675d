import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("sweeps", "0001_initial"),
        ("sweeps", "0002_process"),
    ]

    dependencies = [
        ("jobs", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        ("scenarios", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.CharField(max_length=200)),
                ("label", models.CharField(max_length=120)),
                ("configuration", models.TextField()),
                ("process", models.JSONField(db_default={}, default=dict)),
                ("space", models.JSONField()),
                ("objectives", models.JSONField()),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("grid", "Grid: every combination"),
                            ("tpe", "Optuna, TPE: learns where good values lie"),
                            ("nsga2", "Optuna, NSGA-II: breeds a front of several objectives"),
                        ],
                        max_length=8,
                    ),
                ),
                ("planned", models.PositiveIntegerField()),
                ("seeds", models.JSONField()),
                ("seed", models.PositiveIntegerField()),
                ("measures", models.JSONField(default=list)),
                ("engine", models.CharField(blank=True, max_length=20000)),
                ("turn", models.PositiveIntegerField(default=0)),
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
                (
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="policies.revision",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sweeps",
                        to="scenarios.scenariorevision",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Trial",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "origin",
                    models.CharField(
                        choices=[("base", "the base policy"), ("alone", "one at a time"), ("search", "search")],
                        max_length=8,
                    ),
                ),
                ("point", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("worker", models.CharField(blank=True, max_length=120)),
                ("values", models.JSONField(default=dict)),
                ("places", models.BinaryField(null=True)),
                ("notes", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("seconds", models.FloatField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "sweep",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="trials", to="sweeps.sweep"
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["sweep", "state"], name="sweeps_tria_sweep_i_b63407_idx")],
                "constraints": [models.UniqueConstraint(fields=("sweep", "number"), name="trial_number_once_a_sweep")],
            },
        ),
    ]
