from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0002_allowed_address'),
    ]

    operations = [
        migrations.AddField(
            model_name='cluster',
            name='events_problem',
            field=models.CharField(blank=True, db_default='', default='', max_length=500),
        ),
        migrations.AddField(
            model_name='cluster',
            name='events_read_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='EventRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(max_length=320)),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(blank=True, max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('object_uid', models.CharField(blank=True, max_length=253)),
                ('type', models.CharField(max_length=16)),
                ('reason', models.CharField(blank=True, max_length=128)),
                ('message', models.TextField(blank=True)),
                ('source', models.CharField(blank=True, max_length=253)),
                ('count', models.PositiveIntegerField(default=1)),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='clusters.cluster')),
            ],
            options={
                'ordering': ('-last_at', '-id'),
                'indexes': [models.Index(fields=['cluster', '-last_at'], name='clusters_ev_cluster_18e5b9_idx'), models.Index(fields=['cluster', 'kind', 'namespace', 'name'], name='clusters_ev_cluster_f9609b_idx')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'uid'), name='event_once_a_cluster')],
            },
        ),
    ]
