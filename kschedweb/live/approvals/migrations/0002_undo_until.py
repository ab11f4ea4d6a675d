from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_release_0_1_0")]

    operations = [
        migrations.AddField(model_name="approvalrequest", name="undo_until", field=models.DateTimeField(null=True)),
        migrations.AlterField(
            model_name="delivery",
            name="state",
            field=models.CharField(
                choices=[("pending", "Waiting to be sent"), ("delivered", "Delivered"), ("failed", "Gave up")],
                default="pending",
                max_length=16,
            ),
        ),
    ]
