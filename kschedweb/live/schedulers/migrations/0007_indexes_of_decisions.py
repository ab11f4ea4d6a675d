from django.db import migrations, models

from kschedweb.web.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('policies', '0003_kinds'),
        ('scheduling', '0006_pin_revisions'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='livedecision',
            index=models.Index(fields=['scheduler', 'namespace', '-at', '-id'], name='decision_by_namespace'),
        ),
        AddIndexConcurrently(
            model_name='livedecision',
            index=models.Index(fields=['scheduler', 'node', '-at', '-id'], name='decision_by_node'),
        ),
        AddIndexConcurrently(
            model_name='livedecision',
            index=models.Index(condition=models.Q(('has_columns', True)), fields=['scheduler', '-at', '-id'], name='decision_with_columns'),
        ),
        AddIndexConcurrently(
            model_name='livedecision',
            index=models.Index(fields=['scheduler', 'result', '-at', '-id'], name='decision_result_newest'),
        ),
        migrations.RemoveIndex(model_name='livedecision', name='decision_by_result'),
    ]
