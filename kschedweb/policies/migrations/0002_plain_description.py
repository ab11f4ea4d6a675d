"""Describe the policy that comes with the site in plain words, where nobody has changed its description."""

from django.db import migrations

BEFORE = "The policy that pages show where none is chosen."
AFTER = "Used everywhere unless you choose another."


def describe_plainly(apps, schema_editor):
    apps.get_model("policies", "Policy").objects.filter(name="default", description=BEFORE).update(description=AFTER)


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_release_0_1_0")]
    operations = [migrations.RunPython(describe_plainly, migrations.RunPython.noop)]
