from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("policies", "0004_database_defaults"),
    ]

    operations = [
        migrations.AlterField(
            model_name="policy",
            name="kind",
            field=models.CharField(
                choices=[
                    ("profiles", "Profiles (KubeSchedulerConfiguration)"),
                    ("classic", "Classic (Policy)"),
                    ("crane", "crane-scheduler (DynamicSchedulerPolicy)"),
                ],
                db_default="profiles",
                default="profiles",
                max_length=10,
            ),
        ),
    ]
