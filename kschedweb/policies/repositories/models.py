"""Git repositories whose files are policies, with the files and commits that were read."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.clusters.models import SealedRow
from kschedweb.policies.models import Policy, Revision


class Repository(models.Model):
    """A folder of a branch that is followed. Each YAML file in it is a policy of the file's name.

    Files that differ on other branches become drafts, which are policies of their own.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=63, unique=True)
    # https://…, or a path on the server.
    url = models.CharField(max_length=500)
    branch = models.CharField(max_length=200, default="main")
    # Branches of drafts, such as feature/*; "" for none.
    drafts = models.CharField(max_length=200, blank=True, default="", db_default="")
    # "" is the whole repository.
    folder = models.CharField(max_length=300, blank=True)
    # Beside the secret; "" if the secret is enough.
    username = models.CharField(max_length=100, blank=True)
    # Seconds between two looks.
    interval = models.PositiveIntegerField(default=60)
    active = models.BooleanField(default=True)
    # The last commit that was read.
    commit = models.CharField(max_length=64, blank=True)
    # When to look next; null: at once.
    due_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    # Why the last look failed; "" if it did not.
    problem = models.CharField(max_length=500, blank=True)
    # Where the git server takes statuses of commits: …/repos/OWNER/NAME or …/api/v4/projects/NUMBER; "" is nowhere.
    status_url = models.CharField(max_length=500, blank=True, default="", db_default="")
    # Why the git server refused the last status.
    status_problem = models.CharField(max_length=500, blank=True, default="", db_default="")
    # The last status that the git server took, by branch: {branch: [commit, valid]}.
    told = models.JSONField(default=dict, db_default={})
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
    """The token with which statuses of commits are reported."""

    purpose, kind = b"policy repository status", "repository"

    repository = models.OneToOneField(
        Repository, primary_key=True, on_delete=models.CASCADE, related_name="status_token"
    )

    @property
    def opens(self) -> str:
        return self.repository.name


class RepositoryFile(models.Model):
    """A file as it was read last."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="files")
    # Of a draft; "" is the branch that is followed.
    branch = models.CharField(max_length=200, blank=True, default="", db_default="")
    path = models.CharField(max_length=500)
    # git's name of its content.
    blob = models.CharField(max_length=64)
    # The commit that changed it last.
    commit = models.CharField(max_length=64)
    # None as long as the file was never valid.
    policy = models.OneToOneField(Policy, null=True, on_delete=models.SET_NULL, related_name="file")
    # True once it is no longer in the repository.
    removed = models.BooleanField(default=False)
    # [{"line": 3, "message": "…"}]; line 0 for the whole file.
    problems = models.JSONField(default=list)

    class Meta:
        ordering = ("branch", "path")
        constraints = [models.UniqueConstraint(fields=["repository", "branch", "path"], name="file_once_a_branch")]


class RepositoryCommit(models.Model):
    """A commit that changed files of the folder, with the result for each file."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="commits")
    # The branch of drafts; "" is the branch that is followed.
    branch = models.CharField(max_length=200, blank=True, default="", db_default="")
    commit = models.CharField(max_length=64)
    # "Name <address>".
    author = models.CharField(max_length=300)
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
    """The commit that a revision was made from."""

    revision = models.OneToOneField(Revision, primary_key=True, on_delete=models.CASCADE, related_name="commit")
    commit = models.CharField(max_length=64)
    author = models.CharField(max_length=300)
    written_at = models.DateTimeField()
    path = models.CharField(max_length=500)
