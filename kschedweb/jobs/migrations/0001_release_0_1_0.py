import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("jobs", "0001_initial"),
        ("jobs", "0002_attempts_and_keys"),
        ("jobs", "0003_job_seconds_left"),
        ("jobs", "0004_indexes_of_jobs"),
        ("jobs", "0005_job_private"),
        ("jobs", "0006_turns_and_delivery"),
        ("jobs", "0007_job_request_id"),
        ("jobs", "0008_pulse"),
        ("jobs", "0009_job_reached"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Pulse",
            fields=[
                ("name", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=128)),
                ("digest", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="idempotency_key_once_a_user")],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=64)),
                ("title", models.CharField(max_length=200)),
                ("private", models.BooleanField(db_default=False, default=False)),
                ("params", models.JSONField(default=dict)),
                ("request_id", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                ("reached", models.FloatField(db_default=0.0, default=0.0)),
                ("seconds_left", models.FloatField(null=True)),
                ("step", models.CharField(blank=True, max_length=200)),
                ("result", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("restartable", models.BooleanField(default=False)),
                ("apart", models.BooleanField(db_default=False, default=False)),
                ("sent_at", models.DateTimeField(null=True)),
                ("undelivered", models.BooleanField(db_default=False, default=False)),
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
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["state", "-created_at"], name="jobs_job_state_cd9544_idx"),
                    models.Index(fields=["-created_at", "-id"], name="job_newest"),
                    models.Index(fields=["ended_at"], name="job_ended"),
                ],
            },
        ),
    ]
