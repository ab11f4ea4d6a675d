from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("decisions", "0001_release_0_1_0")]

    operations = [
        migrations.AlterField(
            model_name="question",
            name="kind",
            field=models.CharField(
                choices=[
                    ("decision", "Decision"),
                    ("effect", "Effect of an edited policy"),
                    ("group", "Group of pods"),
                    ("groups", "Groups of pods"),
                    ("devices", "Devices"),
                    ("load-aware", "Load-aware policies"),
                    ("node", "Node"),
                    ("run", "Decision of a run"),
                    ("roll-out", "Roll-out"),
                ],
                max_length=16,
            ),
        ),
    ]
