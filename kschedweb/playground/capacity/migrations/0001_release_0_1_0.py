import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("capacity", "0001_questions"),
        ("capacity", "0002_gangs"),
        ("capacity", "0003_engine"),
        ("capacity", "0004_buffer"),
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
                            ("fit", "How many fit"),
                            ("nodes", "How many nodes"),
                            ("drain", "Drain rehearsal"),
                            ("gangs", "How many gangs"),
                            ("buffer", "Buffer"),
                        ],
                        max_length=16,
                    ),
                ),
                ("asked", models.JSONField()),
                ("about", models.CharField(max_length=300)),
                ("policy", models.CharField(max_length=120)),
                ("engine", models.CharField(blank=True, db_default="", max_length=20000)),
                ("sentence", models.TextField(blank=True)),
                ("content", models.BinaryField(null=True)),
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
    ]
