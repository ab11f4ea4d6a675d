import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("runs", "0001_initial"),
        ("runs", "0002_process"),
        ("runs", "0003_autoscaler"),
        ("runs", "0004_descheduler"),
    ]

    dependencies = [
        ("jobs", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        ("scenarios", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("title", models.CharField(max_length=200)),
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
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comparisons",
                        to="scenarios.scenariorevision",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("position", models.PositiveSmallIntegerField(default=0)),
                ("label", models.CharField(max_length=160)),
                ("configuration", models.TextField()),
                ("process", models.JSONField(db_default={}, default=dict)),
                ("autoscaler", models.TextField(blank=True, db_default="")),
                ("descheduler", models.JSONField(null=True)),
                ("seed", models.PositiveIntegerField()),
                ("engine", models.CharField(blank=True, max_length=20000)),
                ("summary", models.JSONField(default=list)),
                ("notes", models.JSONField(default=list)),
                ("outcome", models.BinaryField(null=True)),
                ("groups", models.JSONField(default=list)),
                ("virtual_seconds", models.FloatField(null=True)),
                ("seconds", models.FloatField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "comparison",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="runs.comparison",
                    ),
                ),
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
                        related_name="runs",
                        to="policies.revision",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="scenarios.scenariorevision",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "position", "seed", "id"),
            },
        ),
        migrations.CreateModel(
            name="Difference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content", models.BinaryField(null=True)),
                ("counts", models.JSONField(default=dict)),
                (
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
                    ),
                ),
                (
                    "against",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="difference", to="runs.run"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("comparison", "position", "seed"), name="one_run_of_each_in_a_comparison"
            ),
        ),
    ]
