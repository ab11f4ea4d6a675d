"""Git repositories whose files are policies: what is followed, the files and commits that were read."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.clusters.models import SealedRow
from kschedweb.policies.models import Policy, Revision


class Repository(models.Model):
    """A folder of a branch that is followed; each YAML file in it is a policy of the file's name.

    What differs on other branches becomes a draft: a policy of its own.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=63, unique=True)
    url = models.CharField(max_length=500)  # https://…, or a path on the server
    branch = models.CharField(max_length=200, default="main")
    drafts = models.CharField(max_length=200, blank=True, default="", db_default="")  # branches, such as feature/*
    folder = models.CharField(max_length=300, blank=True)  # "" is the whole repository
    username = models.CharField(max_length=100, blank=True)  # beside the secret; "" where that is enough
    interval = models.PositiveIntegerField(default=60)  # seconds between two looks
    active = models.BooleanField(default=True)
    commit = models.CharField(max_length=64, blank=True)  # the last one that was read
    due_at = models.DateTimeField(null=True)  # the next look; null: at once
    looked_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)  # why the last look failed
    # Where the git server takes statuses of commits: …/repos/OWNER/NAME or …/api/v4/projects/NUMBER; "" is nowhere.
    status_url = models.CharField(max_length=500, blank=True, default="", db_default="")
    status_problem = models.CharField(max_length=500, blank=True, default="", db_default="")  # why it took the last not
    told = models.JSONField(default=dict, db_default={})  # {branch: [commit, valid]}
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class RepositorySecret(SealedRow):
    """The token or password that opens a repository."""

    purpose, kind = b"policy repository", "repository"

    repository = models.OneToOneField(Repository, primary_key=True, on_delete=models.CASCADE, related_name="secret")

    @property
    def opens(self) -> str:
        return self.repository.name


class StatusToken(SealedRow):
    """The token with which statuses of commits are told."""

    purpose, kind = b"policy repository status", "repository"

    repository = models.OneToOneField(
        Repository, primary_key=True, on_delete=models.CASCADE, related_name="status_token"
    )

    @property
    def opens(self) -> str:
        return self.repository.name


class RepositoryFile(models.Model):
    """A file as it was read last. ``policy`` is ``None`` as long as it never was valid."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="files")
    # Of a draft; "" is the branch that is followed.
    branch = models.CharField(max_length=200, blank=True, default="", db_default="")
    path = models.CharField(max_length=500)
    blob = models.CharField(max_length=64)  # git's name of its content
    commit = models.CharField(max_length=64)  # that changed it last
    policy = models.OneToOneField(Policy, null=True, on_delete=models.SET_NULL, related_name="file")
    removed = models.BooleanField(default=False)  # no longer in the repository
    problems = models.JSONField(default=list)  # [{"line": 3, "message": "…"}]; line 0 for the file

    class Meta:
        ordering = ("branch", "path")
        constraints = [models.UniqueConstraint(fields=["repository", "branch", "path"], name="file_once_a_branch")]


class RepositoryCommit(models.Model):
    """A commit that changed files of the folder, and what came of each."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="commits")
    branch = models.CharField(max_length=200, blank=True, default="", db_default="")  # as of files
    commit = models.CharField(max_length=64)
    author = models.CharField(max_length=300)  # "Name <address>"
    subject = models.CharField(max_length=300)
    written_at = models.DateTimeField()
    read_at = models.DateTimeField(auto_now_add=True)
    # [{"path", "policy", "revision": 3 or null, "removed", "problems": [{"line", "message"}]}]
    files = models.JSONField(default=list)
    valid = models.BooleanField()

    class Meta:
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=["repository", "commit"], name="commit_once_a_repository")]


class RevisionCommit(models.Model):
    """The commit that a revision was made of."""

    revision = models.OneToOneField(Revision, primary_key=True, on_delete=models.CASCADE, related_name="commit")
    commit = models.CharField(max_length=64)
    author = models.CharField(max_length=300)
    written_at = models.DateTimeField()
    path = models.CharField(max_length=500)
