import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("gate", "0001_initial"),
        ("gate", "0002_process"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        ("jobs", "0001_release_0_1_0"),
        ("scenarios", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Gate",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("policy", models.CharField(max_length=120)),
                ("policy_document", models.TextField()),
                ("process", models.JSONField(db_default={}, default=dict)),
                ("baseline", models.CharField(max_length=120)),
                ("baseline_document", models.TextField(blank=True)),
                ("baseline_process", models.JSONField(db_default={}, default=dict)),
                ("about", models.CharField(max_length=300)),
                ("objects_given", models.BinaryField(null=True)),
                ("place", models.CharField(max_length=16)),
                ("seed", models.PositiveIntegerField()),
                ("thresholds", models.JSONField(default=dict)),
                ("passed", models.BooleanField(null=True)),
                ("verdict", models.JSONField(null=True)),
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
                    "revision",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="scenarios.scenariorevision",
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="clusters.snapshot",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "abstract": False,
            },
        ),
    ]
