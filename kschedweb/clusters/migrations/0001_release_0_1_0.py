import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("clusters", "0001_initial"),
        ("clusters", "0002_uploads"),
        ("clusters", "0003_pod_group"),
        ("clusters", "0004_sandbox"),
        ("clusters", "0005_node_labels"),
        ("clusters", "0006_refresh_minutes"),
        ("clusters", "0007_snapshot_moment"),
        ("clusters", "0008_labels_of_clusters"),
        ("clusters", "0009_import_version"),
    ]

    dependencies = [
        ("jobs", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.SlugField(max_length=63, unique=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("demo", "Demo"),
                            ("import", "Imported files"),
                            ("kubeconfig", "Kubeconfig"),
                            ("token", "Server and token"),
                            ("in-cluster", "The cluster kschedweb runs in"),
                            ("sandbox", "Sandbox"),
                        ],
                        max_length=16,
                    ),
                ),
                ("server", models.CharField(blank=True, max_length=500)),
                ("server_version", models.CharField(blank=True, max_length=64)),
                ("version_guessed", models.BooleanField(db_default=False, default=False)),
                ("permissions", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("refreshed_at", models.DateTimeField(null=True)),
                ("refresh_error", models.CharField(blank=True, max_length=500)),
                ("refresh_asked_at", models.DateTimeField(null=True)),
                ("labels", models.JSONField(db_default={}, default=dict)),
                ("refresh_minutes", models.PositiveSmallIntegerField(db_default=0, default=0)),
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
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Credential",
            fields=[
                ("key_id", models.CharField(max_length=16)),
                ("ciphertext", models.BinaryField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="credential",
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
            name="Snapshot",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("taken_at", models.DateTimeField(db_index=True)),
                ("moment", models.DateTimeField(null=True)),
                ("rebuilt", models.DateTimeField(null=True)),
                ("complete", models.BooleanField(default=False)),
                ("content", models.BinaryField()),
                ("size", models.PositiveBigIntegerField()),
                ("counts", models.JSONField(default=dict)),
                ("problems", models.JSONField(default=list)),
                ("resource_versions", models.JSONField(default=dict)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="snapshots", to="clusters.cluster"
                    ),
                ),
            ],
            options={
                "ordering": ("-taken_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=63)),
                ("replace", models.BooleanField()),
                ("version", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("size", models.PositiveBigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="clusters.cluster"
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
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.job"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PodRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("uid", models.CharField(max_length=253)),
                ("node", models.CharField(blank=True, max_length=253)),
                ("pending", models.BooleanField()),
                ("phase", models.CharField(blank=True, max_length=16)),
                ("gated", models.BooleanField(default=False)),
                ("scheduler_name", models.CharField(max_length=253)),
                ("priority", models.IntegerField(default=0)),
                ("owner", models.CharField(blank=True, max_length=320)),
                ("pod_group", models.CharField(blank=True, db_default="", default="", max_length=253)),
                ("cpu_request", models.BigIntegerField()),
                ("memory_request", models.BigIntegerField()),
                ("created_at", models.DateTimeField(null=True)),
                ("message", models.TextField(blank=True)),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pods", to="clusters.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("-pending", "namespace", "name", "id"),
                "indexes": [
                    models.Index(
                        fields=["snapshot", "-pending", "namespace", "name"], name="clusters_po_snapsho_44728f_idx"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("snapshot", "namespace", "name"), name="pod_once_a_snapshot")
                ],
            },
        ),
        migrations.CreateModel(
            name="NodeRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=253)),
                ("zone", models.CharField(blank=True, max_length=253)),
                ("region", models.CharField(blank=True, max_length=253)),
                ("instance_type", models.CharField(blank=True, max_length=253)),
                ("ready", models.BooleanField(default=True)),
                ("unschedulable", models.BooleanField(default=False)),
                ("taints", models.JSONField(default=list)),
                ("cpu_allocatable", models.BigIntegerField()),
                ("cpu_requested", models.BigIntegerField()),
                ("memory_allocatable", models.BigIntegerField()),
                ("memory_requested", models.BigIntegerField()),
                ("pods_allocatable", models.BigIntegerField()),
                ("pods_bound", models.BigIntegerField()),
                ("cpu_share", models.IntegerField(default=0)),
                ("memory_share", models.IntegerField(default=0)),
                ("extended", models.JSONField(default=dict)),
                ("labels", models.JSONField(null=True)),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="nodes", to="clusters.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("name", "id"),
                "constraints": [models.UniqueConstraint(fields=("snapshot", "name"), name="node_once_a_snapshot")],
            },
        ),
        migrations.CreateModel(
            name="UploadPiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("place", models.PositiveIntegerField()),
                ("file", models.CharField(max_length=255)),
                ("content", models.BinaryField()),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pieces", to="clusters.upload"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("upload", "number"), name="piece_number_once_an_upload")
                ],
            },
        ),
    ]
