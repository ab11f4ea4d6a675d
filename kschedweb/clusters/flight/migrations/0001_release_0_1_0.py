import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("flight", "0001_initial"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="FlightRecorder",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="flight_recorder",
                        serialize=False,
                        to="clusters.cluster",
                    ),
                ),
                ("on", models.BooleanField(default=False)),
                ("days", models.PositiveIntegerField(default=7)),
                ("limit_mib", models.PositiveIntegerField(default=4096)),
                ("holder", models.CharField(blank=True, default="", max_length=300)),
                ("held_until", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, default="", max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name="Stretch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("began", models.BigIntegerField()),
                ("until", models.BigIntegerField()),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("missing", models.JSONField(default=list)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="stretches", to="clusters.cluster"
                    ),
                ),
            ],
            options={
                "ordering": ("began", "id"),
            },
        ),
        migrations.CreateModel(
            name="Segment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("full", models.BooleanField()),
                ("began", models.BigIntegerField()),
                ("content", models.BinaryField()),
                ("stored", models.PositiveBigIntegerField()),
                (
                    "stretch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="segments", to="flight.stretch"
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
            },
        ),
        migrations.AddIndex(
            model_name="stretch",
            index=models.Index(fields=["cluster", "began"], name="flight_stre_cluster_6583ec_idx"),
        ),
        migrations.AddConstraint(
            model_name="segment",
            constraint=models.UniqueConstraint(fields=("stretch", "number"), name="segment_number_once_a_stretch"),
        ),
    ]
