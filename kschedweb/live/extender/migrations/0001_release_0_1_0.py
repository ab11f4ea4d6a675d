import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("extender", "0001_initial"),
    ]

    dependencies = [
        ("scheduling", "0001_release_0_1_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "scheduler",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="endpoint",
                        serialize=False,
                        to="scheduling.livescheduler",
                    ),
                ),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("made_at", models.DateTimeField(null=True)),
                ("plugins", models.JSONField(blank=True, default=list)),
                ("filters", models.BooleanField(default=True)),
                ("prioritizes", models.BooleanField(default=True)),
                ("preempts", models.BooleanField(default=False)),
                ("binds", models.BooleanField(default=False)),
                ("whole_nodes", models.BooleanField(default=False)),
                (
                    "weight",
                    models.PositiveIntegerField(
                        blank=True,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                    ),
                ),
                (
                    "timeout",
                    models.PositiveIntegerField(
                        default=5,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(60),
                        ],
                    ),
                ),
                ("ignorable", models.BooleanField(default=True)),
                ("authority", models.TextField(blank=True)),
            ],
        ),
    ]
