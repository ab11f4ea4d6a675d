from django.db import migrations, models

from kschedweb.web.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('approvals', '0002_standing_denials'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='approvalrequest',
            index=models.Index(fields=['scheduler', 'uid'], name='request_by_uid'),
        ),
        AddIndexConcurrently(
            model_name='approvalrequest',
            index=models.Index(fields=['state', '-asked_at', '-id'], name='request_by_state'),
        ),
        AddIndexConcurrently(
            model_name='approvalrequest',
            index=models.Index(fields=['namespace', '-asked_at', '-id'], name='request_by_namespace'),
        ),
        AddIndexConcurrently(
            model_name='approvalrequest',
            index=models.Index(fields=['decided_at'], name='request_decided'),
        ),
        AddIndexConcurrently(
            model_name='approvalrequest',
            index=models.Index(fields=['ended_at'], name='request_ended'),
        ),
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(fields=['endpoint', '-created_at', '-id'], name='delivery_newest'),
        ),
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(fields=['created_at'], name='delivery_made'),
        ),
    ]
