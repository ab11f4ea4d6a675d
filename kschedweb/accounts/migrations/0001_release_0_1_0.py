import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_sessions_and_temporary_passwords"),
        ("accounts", "0003_indexes_of_audit"),
        ("accounts", "0004_addresses_of_audit_entries"),
        ("accounts", "0005_display_of_people"),
        ("accounts", "0006_language_of_people"),
        ("accounts", "0007_sign_in"),
        ("accounts", "0008_grants"),
        ("accounts", "0009_namespaces_of_grants"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
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
                        default="viewer",
                        max_length=16,
                    ),
                ),
                ("must_change_password", models.BooleanField(default=False)),
                ("session_epoch", models.PositiveIntegerField(default=0)),
                ("time_zone", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("language", models.CharField(blank=True, db_default="", default="", max_length=16)),
                (
                    "density",
                    models.CharField(
                        blank=True,
                        choices=[("", "As designed"), ("comfortable", "Comfortable"), ("compact", "Compact")],
                        db_default="",
                        default="",
                        max_length=16,
                    ),
                ),
                ("provider", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("provider_groups", models.JSONField(blank=True, default=None, null=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "ordering": ("username", "id"),
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="ProviderSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider", models.CharField(max_length=64)),
                ("subject", models.CharField(db_index=True, max_length=191)),
                ("sid", models.CharField(blank=True, db_index=True, default="", max_length=255)),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("id_token", models.TextField()),
                ("refresh_token", models.TextField(blank=True, default="")),
                ("asked_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("prefix", models.CharField(max_length=12, unique=True)),
                ("digest", models.CharField(max_length=64)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("view", "read clusters, decisions and policies"),
                            ("edit", "change policies, import and refresh clusters"),
                            ("approve", "decide about waiting pods"),
                            ("administer", "connect clusters, manage people"),
                        ],
                        default="view",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("address", models.GenericIPAddressField(null=True)),
                ("verb", models.CharField(max_length=64)),
                ("object_type", models.CharField(max_length=32)),
                ("object_id", models.CharField(max_length=64)),
                ("object_name", models.CharField(max_length=253)),
                ("details", models.JSONField(default=dict)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(
                        django.db.models.functions.text.Upper("actor_name"),
                        models.OrderBy(models.F("at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        name="audit_by_actor",
                    ),
                    models.Index(
                        django.db.models.functions.text.Upper("object_name"),
                        models.OrderBy(models.F("at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        name="audit_by_name",
                    ),
                    models.Index(fields=["object_type", "-at", "-id"], name="audit_by_kind"),
                    models.Index(fields=["verb", "-at", "-id"], name="audit_by_verb"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("group", models.CharField(blank=True, default="", max_length=191)),
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
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("all", "All clusters"),
                            ("cluster", "One cluster"),
                            ("label", "Clusters with a label"),
                        ],
                        max_length=16,
                    ),
                ),
                ("cluster", models.UUIDField(db_index=True, null=True)),
                ("label", models.CharField(blank=True, default="", max_length=127)),
                ("namespaces", models.JSONField(db_default=[], default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("user__username", "group", "created_at", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("user__isnull", True), ("group", ""), _connector="XOR"),
                        name="grant_to_person_or_group",
                    )
                ],
            },
        ),
    ]
