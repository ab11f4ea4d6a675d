from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("policies", "0006_descheduler"),
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
                    ("descheduler", "Descheduler (DeschedulerPolicy)"),
                    ("karpenter", "Karpenter (NodePools)"),
                ],
                db_default="profiles",
                default="profiles",
                max_length=16,
            ),
        ),
    ]
