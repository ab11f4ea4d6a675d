from django.conf import settings
from django.db import migrations, models

from kschedweb.web.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('jobs', '0003_job_seconds_left'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(fields=['-created_at', '-id'], name='job_newest'),
        ),
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(fields=['ended_at'], name='job_ended'),
        ),
    ]
