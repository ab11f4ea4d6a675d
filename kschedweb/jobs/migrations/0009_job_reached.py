from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0008_pulse")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="reached",
            field=models.FloatField(db_default=0.0, default=0.0),
        ),
    ]
