from django.db import migrations, models

from kschedweb.web.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('policies', '0003_kinds'),
        ('scheduling', '0007_indexes_of_decisions'),
        ('shadow', '0001_initial'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='shadowverdict',
            index=models.Index(fields=['scheduler', 'namespace', '-at', '-id'], name='shadow_by_namespace'),
        ),
        AddIndexConcurrently(
            model_name='shadowverdict',
            index=models.Index(fields=['scheduler', 'verdict', '-at', '-id'], name='shadow_verdict_newest'),
        ),
        migrations.RemoveIndex(model_name='shadowverdict', name='shadow_by_verdict'),
    ]
