import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("decisions", "0001_questions"),
        ("decisions", "0002_answers_by_key"),
        ("decisions", "0003_pending_outcomes"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        ("jobs", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Question",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("decision", "Decision"),
                            ("effect", "Effect of an edited policy"),
                            ("group", "Group of pods"),
                            ("groups", "Groups of pods"),
                            ("devices", "Devices"),
                            ("load-aware", "Load-aware policies"),
                            ("run", "Decision of a run"),
                            ("roll-out", "Roll-out"),
                        ],
                        max_length=16,
                    ),
                ),
                ("asked", models.JSONField()),
                ("key", models.CharField(db_default="", db_index=True, default="", max_length=64)),
                ("address", models.TextField(blank=True, db_default="", default="")),
                ("about", models.CharField(max_length=300)),
                ("policy", models.CharField(max_length=120)),
                ("sentence", models.TextField(blank=True)),
                ("content", models.BinaryField(null=True)),
                ("columns", models.BinaryField(null=True)),
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
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="policies.revision",
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
        migrations.CreateModel(
            name="PendingOutcomes",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("figures", models.CharField(max_length=64)),
                ("asked", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="policies.revision"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="clusters.snapshot"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("snapshot", "revision"), name="outcomes_once_a_revision")
                ],
            },
        ),
    ]
