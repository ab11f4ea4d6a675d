import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("watermarks", "0001_initial"),
        ("watermarks", "0002_annotating"),
        ("watermarks", "0003_containers"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ContainerBook",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="clusters.cluster",
                    ),
                ),
                ("updated", models.BigIntegerField()),
                ("content", models.BinaryField()),
                ("requested", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="WatermarkCredential",
            fields=[
                ("key_id", models.CharField(max_length=16)),
                ("ciphertext", models.BinaryField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="%(class)s",
                        serialize=False,
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Annotating",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="annotating",
                        serialize=False,
                        to="clusters.cluster",
                    ),
                ),
                ("own", models.BooleanField(default=False)),
                ("crane", models.BooleanField(default=False)),
                ("time_zone", models.CharField(default="Asia/Shanghai", max_length=64)),
                (
                    "rate",
                    models.PositiveIntegerField(
                        default=10,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                    ),
                ),
                (
                    "renew",
                    models.PositiveIntegerField(
                        default=300,
                        validators=[
                            django.core.validators.MinValueValidator(60),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                    ),
                ),
                ("permissions", models.JSONField(default=list)),
                ("changed_at", models.DateTimeField(null=True)),
                ("running_until", models.DateTimeField(null=True)),
                ("ran_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("outcome", models.JSONField(default=dict)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Members",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=12)),
                ("names", models.BinaryField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="clusters.cluster"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Series",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=12)),
                ("resource", models.CharField(max_length=8)),
                ("statistic", models.CharField(max_length=8)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watermark_series",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "resolution",
                    models.PositiveSmallIntegerField(
                        choices=[(60, "as collected"), (300, "5 minutes"), (3600, "1 hour")]
                    ),
                ),
                ("at", models.BigIntegerField()),
                ("origin", models.CharField(max_length=16)),
                ("values", models.BinaryField()),
                (
                    "members",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="watermarks.members"
                    ),
                ),
                (
                    "series",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="samples", to="watermarks.series"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WatermarkSource",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="watermark_source",
                        serialize=False,
                        to="clusters.cluster",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("prometheus", "Prometheus"),
                            ("metrics.k8s.io", "metrics.k8s.io (metrics-server)"),
                        ],
                        default="none",
                        max_length=16,
                    ),
                ),
                ("address", models.CharField(blank=True, max_length=500)),
                (
                    "authentication",
                    models.CharField(
                        choices=[("none", "None"), ("bearer", "Bearer token"), ("basic", "User name and password")],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("has_ca", models.BooleanField(default=False)),
                ("node_label", models.CharField(default="instance", max_length=100)),
                (
                    "unit",
                    models.CharField(
                        choices=[
                            ("capacity-percent", "Percent of the machine (0-100)"),
                            ("capacity-ratio", "Ratio of the machine (0-1)"),
                            ("allocatable-percent", "Percent of allocatable (0-100)"),
                            ("allocatable-ratio", "Ratio of allocatable (0-1)"),
                            ("absolute", "Cores and bytes"),
                        ],
                        default="capacity-percent",
                        max_length=24,
                    ),
                ),
                ("queries", models.JSONField(default=dict)),
                (
                    "interval",
                    models.PositiveIntegerField(
                        default=60,
                        validators=[
                            django.core.validators.MinValueValidator(30),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                (
                    "keep_hours",
                    models.PositiveIntegerField(
                        default=24,
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(168),
                        ],
                    ),
                ),
                (
                    "keep_days",
                    models.PositiveIntegerField(
                        default=7,
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(60),
                        ],
                    ),
                ),
                (
                    "keep_long_days",
                    models.PositiveIntegerField(
                        default=90,
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(730),
                        ],
                    ),
                ),
                ("changed_at", models.DateTimeField(null=True)),
                ("slot", models.BigIntegerField(default=0)),
                ("running_since", models.DateTimeField(null=True)),
                ("ran_at", models.DateTimeField(null=True)),
                ("succeeded_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=1000)),
                ("report", models.JSONField(default=dict)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("cluster",),
            },
        ),
        migrations.AddConstraint(
            model_name="series",
            constraint=models.UniqueConstraint(
                fields=("cluster", "kind", "resource", "statistic"), name="watermark_series_once_a_cluster"
            ),
        ),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.UniqueConstraint(
                fields=("series", "resolution", "at"), name="watermark_sample_once_a_time"
            ),
        ),
    ]
