from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0002_attempts_and_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='seconds_left',
            field=models.FloatField(null=True),
        ),
    ]
