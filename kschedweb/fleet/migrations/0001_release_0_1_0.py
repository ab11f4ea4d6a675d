import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("fleet", "0001_initial"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        ("jobs", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Standing",
            fields=[
                (
                    "snapshot",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="standing",
                        serialize=False,
                        to="clusters.snapshot",
                    ),
                ),
                ("values", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="FleetTrial",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("policy", models.CharField(max_length=120)),
                ("instead", models.CharField(max_length=120)),
                ("clusters", models.JSONField(default=list)),
                ("answers", models.JSONField(default=list)),
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
                    "changed",
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
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "abstract": False,
            },
        ),
    ]
