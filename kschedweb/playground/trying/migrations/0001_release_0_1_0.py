import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("trying", "0001_initial"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        ("jobs", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        ("scenarios", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="TriedChange",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("policy", models.CharField(max_length=120)),
                ("base_document", models.TextField()),
                ("base_started", models.JSONField(default=dict)),
                ("document", models.TextField()),
                ("process", models.JSONField(default=dict)),
                ("started", models.JSONField(default=dict)),
                ("change", models.CharField(max_length=500)),
                ("about", models.CharField(max_length=300)),
                ("pod", models.CharField(blank=True, max_length=320)),
                ("sentence", models.TextField(blank=True)),
                ("content", models.BinaryField(null=True)),
                (
                    "base",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="policies.revision",
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
