import django.db.models.deletion
import kschedweb.live.approvals.models
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("approvals", "0001_initial"),
        ("approvals", "0002_standing_denials"),
        ("approvals", "0003_indexes_of_requests"),
        ("approvals", "0004_message_formats"),
        ("approvals", "0005_role_of_votes"),
    ]

    dependencies = [
        ("scheduling", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=64, unique=True)),
                ("url", models.CharField(max_length=500)),
                ("events", models.JSONField(default=kschedweb.live.approvals.models.all_events)),
                (
                    "format",
                    models.CharField(
                        choices=[("standard", "Standard Webhooks"), ("cloudevents", "CloudEvents 1.0 in JSON")],
                        db_default="standard",
                        default="standard",
                        max_length=16,
                    ),
                ),
                ("told_until", models.DateTimeField(null=True)),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
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
            name="ApprovalRequest",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("uid", models.CharField(max_length=64)),
                ("node", models.CharField(max_length=253)),
                ("plugin", models.CharField(max_length=64)),
                ("decision_id", models.CharField(max_length=64)),
                ("decision", models.JSONField(default=dict)),
                ("ask", models.JSONField(default=dict)),
                ("created_by", models.CharField(blank=True, max_length=253)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("approved", "Approved"),
                            ("binding", "Being bound"),
                            ("bound", "Bound"),
                            ("denied", "Denied"),
                            ("expired", "Expired"),
                            ("failed", "Binding failed"),
                            ("superseded", "Superseded"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("open", models.BooleanField(default=True)),
                ("reason", models.TextField(blank=True)),
                ("asked_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                ("ended_at", models.DateTimeField(null=True)),
                ("epoch", models.PositiveBigIntegerField(default=0)),
                ("subject", models.CharField(db_default="", default="", max_length=64)),
                ("asked_again", models.PositiveIntegerField(db_default=0, default=0)),
                ("asked_again_at", models.DateTimeField(null=True)),
                ("reopened_at", models.DateTimeField(null=True)),
                ("reopened_by", models.CharField(db_default="", default="", max_length=150)),
                (
                    "scheduler",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approval_requests",
                        to="scheduling.livescheduler",
                    ),
                ),
            ],
            options={
                "ordering": ("expires_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="EndpointSecret",
            fields=[
                ("key_id", models.CharField(max_length=16)),
                ("ciphertext", models.BinaryField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="secret",
                        serialize=False,
                        to="approvals.endpoint",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("request.opened", "A pod waits"),
                            ("request.decided", "Approved or denied"),
                            ("request.expired", "Nobody decided in time"),
                            ("decisions.made", "Live schedulers decided, several decisions in one message"),
                            ("run.finished", "A run is done"),
                            ("test", "Test"),
                        ],
                        max_length=32,
                    ),
                ),
                ("body", models.TextField()),
                (
                    "format",
                    models.CharField(
                        choices=[("standard", "Standard Webhooks"), ("cloudevents", "CloudEvents 1.0 in JSON")],
                        db_default="standard",
                        default="standard",
                        max_length=16,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "To be sent"), ("delivered", "Delivered"), ("failed", "Given up")],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("next_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "request",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="approvals.approvalrequest",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="approvals.endpoint"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("username", models.CharField(max_length=150)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("editor", "Editor"),
                            ("approver", "Approver"),
                            ("admin", "Admin"),
                            ("none", "By grants alone"),
                        ],
                        max_length=16,
                    ),
                ),
                ("verdict", models.CharField(choices=[("approve", "Approved"), ("deny", "Denied")], max_length=16)),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="votes",
                        to="approvals.approvalrequest",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("at", "id"),
            },
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["open", "state", "expires_at"], name="request_open"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["-asked_at", "-id"], name="request_newest"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["namespace", "name"], name="request_by_pod"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["scheduler", "uid"], name="request_by_uid"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["state", "-asked_at", "-id"], name="request_by_state"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["namespace", "-asked_at", "-id"], name="request_by_namespace"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["decided_at"], name="request_decided"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["ended_at"], name="request_ended"),
        ),
        migrations.AddConstraint(
            model_name="approvalrequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("open", True)),
                fields=("scheduler", "uid"),
                name="one_open_request_a_pod_and_scheduler",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["state", "next_at"], name="delivery_due"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["endpoint", "-created_at", "-id"], name="delivery_newest"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["created_at"], name="delivery_made"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                condition=models.Q(("request__isnull", False)),
                fields=("endpoint", "request", "event"),
                name="one_delivery_an_event_and_endpoint",
            ),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.UniqueConstraint(fields=("request", "user"), name="one_vote_a_person"),
        ),
    ]
