from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0001_release_0_1_0"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="queues",
            field=models.JSONField(null=True),
        ),
    ]
