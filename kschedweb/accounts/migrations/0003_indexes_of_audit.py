import django.db.models.functions.text
from django.db import migrations, models

from kschedweb.web.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('accounts', '0002_sessions_and_temporary_passwords'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.text.Upper('actor_name'), models.OrderBy(models.F('at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='audit_by_actor'),
        ),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(django.db.models.functions.text.Upper('object_name'), models.OrderBy(models.F('at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='audit_by_name'),
        ),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(fields=['object_type', '-at', '-id'], name='audit_by_kind'),
        ),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(fields=['verb', '-at', '-id'], name='audit_by_verb'),
        ),
    ]
