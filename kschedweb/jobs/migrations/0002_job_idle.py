from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_release_0_1_0"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="idle",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
