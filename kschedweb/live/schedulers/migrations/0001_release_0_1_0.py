import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("scheduling", "0001_initial"),
        ("scheduling", "0002_candidate_comparison"),
        ("scheduling", "0003_lock"),
        ("scheduling", "0004_epoch"),
        ("scheduling", "0005_database_defaults"),
        ("scheduling", "0006_pin_revisions"),
        ("scheduling", "0007_indexes_of_decisions"),
        ("scheduling", "0008_decision_drawn"),
        ("scheduling", "0009_decision_engine"),
        ("scheduling", "0010_locks_of_policies"),
    ]

    dependencies = [
        ("clusters", "0001_release_0_1_0"),
        ("policies", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LiveDecision",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("uid", models.CharField(max_length=64)),
                ("attempt", models.PositiveIntegerField(default=1)),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("bound", "Bound"),
                            ("held", "Held for approval"),
                            ("waiting", "Waiting at Permit"),
                            ("unschedulable", "Unschedulable"),
                            ("error", "Error"),
                            ("denied", "Denied"),
                            ("expired", "Expired"),
                            ("superseded", "Superseded"),
                            ("failed", "Binding failed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                ("node", models.CharField(blank=True, max_length=253)),
                ("nominated", models.CharField(blank=True, max_length=253)),
                ("evaluated", models.PositiveIntegerField(default=0)),
                ("feasible", models.PositiveIntegerField(default=0)),
                ("margin", models.BigIntegerField(null=True)),
                ("drawn", models.PositiveIntegerField(null=True)),
                ("top", models.JSONField(default=list)),
                ("durations", models.JSONField(default=dict)),
                ("latency", models.FloatField(null=True)),
                ("rejected_by", models.JSONField(default=list)),
                ("message", models.TextField(blank=True)),
                ("epoch", models.PositiveBigIntegerField(default=0)),
                ("engine", models.CharField(blank=True, db_default="", default="", max_length=20000)),
                ("has_columns", models.BooleanField(default=False)),
                (
                    "revision",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="policies.revision",
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="LiveColumns",
            fields=[
                (
                    "decision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="columns",
                        serialize=False,
                        to="scheduling.livedecision",
                    ),
                ),
                ("content", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="LiveScheduler",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("scheduler_name", models.CharField(max_length=63)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("off", "Off"),
                            ("shadow", "Shadow"),
                            ("extender", "Extender"),
                            ("scheduling", "Scheduling"),
                        ],
                        default="off",
                        max_length=16,
                    ),
                ),
                ("paused", models.BooleanField(default=False)),
                (
                    "steps",
                    models.PositiveIntegerField(
                        default=0,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
                ("reloads", models.PositiveIntegerField(default=0)),
                ("holder", models.CharField(blank=True, max_length=253)),
                ("held_until", models.DateTimeField(blank=True, null=True)),
                (
                    "keep_decisions",
                    models.PositiveIntegerField(
                        default=100000,
                        validators=[
                            django.core.validators.MinValueValidator(100),
                            django.core.validators.MaxValueValidator(10000000),
                        ],
                    ),
                ),
                (
                    "keep_days",
                    models.PositiveIntegerField(
                        default=30,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(3650),
                        ],
                    ),
                ),
                (
                    "keep_columns",
                    models.PositiveIntegerField(
                        default=1000,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                    ),
                ),
                (
                    "qps",
                    models.PositiveIntegerField(
                        default=50,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                    ),
                ),
                (
                    "burst",
                    models.PositiveIntegerField(
                        default=100,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                    ),
                ),
                (
                    "lock",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("leases", "Lease"),
                            ("endpoints", "Endpoints"),
                            ("endpointsleases", "Endpoints and Lease"),
                            ("configmaps", "ConfigMap"),
                            ("configmapsleases", "ConfigMap and Lease"),
                        ],
                        db_default="",
                        default="",
                        max_length=16,
                    ),
                ),
                ("lease_namespace", models.CharField(blank=True, default="", max_length=63)),
                ("lease_name", models.CharField(blank=True, max_length=253)),
                ("epoch", models.BigIntegerField(db_default=-1, default=-1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(null=True)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="live_schedulers",
                        to="clusters.cluster",
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
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="live_schedulers",
                        to="policies.policy",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="policies.revision",
                    ),
                ),
            ],
            options={
                "ordering": ("cluster__name", "scheduler_name"),
            },
        ),
        migrations.AddField(
            model_name="livedecision",
            name="scheduler",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="decisions", to="scheduling.livescheduler"
            ),
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("identity", models.CharField(max_length=253)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("off", "Off"),
                            ("shadow", "Shadow"),
                            ("extender", "Extender"),
                            ("scheduling", "Scheduling"),
                        ],
                        max_length=16,
                    ),
                ),
                ("election", models.CharField(blank=True, db_default="", default="", max_length=400)),
                ("leading", models.BooleanField(default=False)),
                ("synced", models.BooleanField(default=False)),
                ("epoch", models.PositiveBigIntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                ("heartbeat", models.DateTimeField(db_index=True)),
                ("ticked_at", models.DateTimeField(null=True)),
                ("depths", models.JSONField(default=dict)),
                ("bound", models.PositiveBigIntegerField(default=0)),
                ("rate", models.FloatField(default=0.0)),
                ("latency", models.JSONField(default=dict)),
                ("history", models.JSONField(default=list)),
                ("watches", models.JSONField(default=dict)),
                ("comparison", models.JSONField(default=dict)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("error_at", models.DateTimeField(null=True)),
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
                    "scheduler",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="candidates",
                        to="scheduling.livescheduler",
                    ),
                ),
            ],
            options={
                "ordering": ("-leading", "started_at"),
            },
        ),
        migrations.AddConstraint(
            model_name="livescheduler",
            constraint=models.UniqueConstraint(
                fields=("cluster", "scheduler_name"), name="live_scheduler_name_once_a_cluster"
            ),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["scheduler", "-at", "-id"], name="decision_newest"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["scheduler", "result", "-at", "-id"], name="decision_result_newest"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["scheduler", "namespace", "name", "-at"], name="decision_by_pod"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["scheduler", "namespace", "-at", "-id"], name="decision_by_namespace"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["scheduler", "node", "-at", "-id"], name="decision_by_node"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(fields=["uid"], name="decision_by_uid"),
        ),
        migrations.AddIndex(
            model_name="livedecision",
            index=models.Index(
                condition=models.Q(("has_columns", True)),
                fields=["scheduler", "-at", "-id"],
                name="decision_with_columns",
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(fields=("scheduler", "identity"), name="candidate_once_a_scheduler"),
        ),
    ]
