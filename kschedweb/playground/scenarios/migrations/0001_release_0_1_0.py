import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("scenarios", "0001_initial"),
        ("scenarios", "0002_revision_author"),
        ("scenarios", "0003_figures_file"),
        ("scenarios", "0004_name_once_an_owner"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Scenario",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("slug", models.SlugField(allow_unicode=True, max_length=100)),
                ("description", models.CharField(blank=True, max_length=500)),
                ("shared", models.BooleanField(default=False)),
                ("built_in", models.BooleanField(default=False)),
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
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="ScenarioFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("openb-nodes", "Nodes (openb)"),
                            ("openb-pods", "Pods (openb)"),
                            ("records", "Records of kube-scheduler-simulator"),
                            ("csv", "CSV"),
                            ("recording", "Recorded use of machines"),
                            ("snapshot", "The cluster it starts from"),
                            ("figures", "What its nodes and workloads used"),
                        ],
                        max_length=16,
                    ),
                ),
                ("content", models.BinaryField()),
                ("size", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("lines", models.PositiveIntegerField()),
                ("problems", models.JSONField(default=list)),
                ("about", models.JSONField(default=dict)),
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
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="scenarios.scenario"
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="ScenarioRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField()),
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
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="scenarios.scenario"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="clusters.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
            },
        ),
        migrations.AddConstraint(
            model_name="scenario",
            constraint=models.UniqueConstraint(fields=("created_by", "slug"), name="scenario_name_once_an_owner"),
        ),
        migrations.AddConstraint(
            model_name="scenariofile",
            constraint=models.UniqueConstraint(fields=("scenario", "name"), name="scenario_file_name_once"),
        ),
        migrations.AddConstraint(
            model_name="scenariorevision",
            constraint=models.UniqueConstraint(fields=("scenario", "number"), name="scenario_revision_number_once"),
        ),
    ]
