from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("capacity", "0001_release_0_1_0")]

    operations = [
        migrations.AlterField(
            model_name="question",
            name="kind",
            field=models.CharField(
                choices=[
                    ("fit", "How many fit"),
                    ("nodes", "How many nodes"),
                    ("drain", "Drain rehearsal"),
                    ("gangs", "How many gangs"),
                    ("buffer", "Buffer"),
                    ("change", "Lose or add nodes"),
                ],
                max_length=16,
            ),
        ),
    ]
