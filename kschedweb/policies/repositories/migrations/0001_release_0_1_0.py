import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("repositories", "0001_initial"),
        ("repositories", "0002_drafts"),
        ("repositories", "0003_statuses"),
    ]

    dependencies = [
        ("policies", "0001_release_0_1_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Repository",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.SlugField(max_length=63, unique=True)),
                ("url", models.CharField(max_length=500)),
                ("branch", models.CharField(default="main", max_length=200)),
                ("drafts", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("folder", models.CharField(blank=True, max_length=300)),
                ("username", models.CharField(blank=True, max_length=100)),
                ("interval", models.PositiveIntegerField(default=60)),
                ("active", models.BooleanField(default=True)),
                ("commit", models.CharField(blank=True, max_length=64)),
                ("due_at", models.DateTimeField(null=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, max_length=500)),
                ("status_url", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("status_problem", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("told", models.JSONField(db_default={}, default=dict)),
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
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="RevisionCommit",
            fields=[
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="commit",
                        serialize=False,
                        to="policies.revision",
                    ),
                ),
                ("commit", models.CharField(max_length=64)),
                ("author", models.CharField(max_length=300)),
                ("written_at", models.DateTimeField()),
                ("path", models.CharField(max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name="RepositorySecret",
            fields=[
                ("key_id", models.CharField(max_length=16)),
                ("ciphertext", models.BinaryField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="secret",
                        serialize=False,
                        to="repositories.repository",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="StatusToken",
            fields=[
                ("key_id", models.CharField(max_length=16)),
                ("ciphertext", models.BinaryField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="status_token",
                        serialize=False,
                        to="repositories.repository",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="RepositoryCommit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("branch", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("commit", models.CharField(max_length=64)),
                ("author", models.CharField(max_length=300)),
                ("subject", models.CharField(max_length=300)),
                ("written_at", models.DateTimeField()),
                ("read_at", models.DateTimeField(auto_now_add=True)),
                ("files", models.JSONField(default=list)),
                ("valid", models.BooleanField()),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="commits",
                        to="repositories.repository",
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
                "constraints": [
                    models.UniqueConstraint(fields=("repository", "commit"), name="commit_once_a_repository")
                ],
            },
        ),
        migrations.CreateModel(
            name="RepositoryFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("branch", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("path", models.CharField(max_length=500)),
                ("blob", models.CharField(max_length=64)),
                ("commit", models.CharField(max_length=64)),
                ("removed", models.BooleanField(default=False)),
                ("problems", models.JSONField(default=list)),
                (
                    "policy",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="file",
                        to="policies.policy",
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="repositories.repository"
                    ),
                ),
            ],
            options={
                "ordering": ("branch", "path"),
                "constraints": [
                    models.UniqueConstraint(fields=("repository", "branch", "path"), name="file_once_a_branch")
                ],
            },
        ),
    ]
