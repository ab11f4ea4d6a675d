from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scenarios", "0001_initial")]

    operations = [migrations.RenameField("scenariorevision", "created_by", "author")]
