from django.db import migrations, models
from django.db.models import F, Value
from django.db.models.functions import Concat


def keep_names(apps, schema_editor):
    """A row without a name had kschedweb's own: it keeps that, whatever its policy says from now on."""
    rows = apps.get_model("scheduling", "LiveScheduler").objects.filter(lease_name="")
    rows.update(lease_name=Concat(Value("kschedweb-"), F("scheduler_name")))


class Migration(migrations.Migration):

    dependencies = [
        ("scheduling", "0009_decision_engine"),
    ]

    operations = [
        migrations.AlterField(
            model_name="candidate",
            name="election",
            field=models.CharField(blank=True, db_default="", default="", max_length=400),
        ),
        migrations.AlterField(
            model_name="livescheduler",
            name="lease_name",
            field=models.CharField(blank=True, max_length=253),
        ),
        migrations.AlterField(
            model_name="livescheduler",
            name="lease_namespace",
            field=models.CharField(blank=True, default="", max_length=63),
        ),
        migrations.AlterField(
            model_name="livescheduler",
            name="lock",
            field=models.CharField(
                blank=True,
                choices=[
                    ("leases", "Lease"),
                    ("endpoints", "Endpoints"),
                    ("endpointsleases", "Endpoints and Lease"),
                    ("configmaps", "ConfigMap"),
                    ("configmapsleases", "ConfigMap and Lease"),
                ],
                db_default="",
                default="",
                max_length=16,
            ),
        ),
        migrations.RunPython(keep_names, migrations.RunPython.noop),
    ]
