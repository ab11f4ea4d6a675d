"""Policies that come from a git repository: served by git over http, read commit by commit."""

from __future__ import annotations

import random
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.roles import Role
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies import services as policies
from kschedweb.policies.models import Policy
from kschedweb.policies.repositories import git, services, sync
from kschedweb.policies.repositories.models import Repository, RepositorySecret
from kschedweb.web.errors import ApplicationError, Conflict
from tests.support.git_server import GOOD, SECRET, Work, init_work, look, served

pytestmark = pytest.mark.django_db


def revision_numbers(name: str) -> list[int]:
    return sorted(Policy.objects.get(name=name).revisions.values_list("number", flat=True))


def test_each_commit_makes_a_revision_with_its_author(
    ours: Work, address: str, admin: User, api_as: Callable[[Role], APIClient]
) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="/policies/")
    assert look().problem == ""
    assert revision_numbers("web") == [1]
    second = ours.commit("Look at more nodes", web=GOOD.format(60))
    third = ours.commit("Look at most nodes", web=GOOD.format(90), batch=GOOD.format(10))
    ours.commit("Say something", **{"../README": "words"})
    assert look().commit == ours.git("rev-parse", "HEAD")
    assert (revision_numbers("web"), revision_numbers("batch")) == ([1, 2, 3], [1])
    newest = Policy.objects.get(name="web").revisions.get(number=3)
    assert (newest.comment, newest.commit.commit, newest.commit.author) == (
        "Look at most nodes", third, "Ada <ada@example.com>",
    )  # fmt: skip
    status = api_as(Role.VIEWER).get("/api/v1/repositories/platform/status/", {"commit": second}).json()
    assert (status["valid"], status["author"], status["subject"]) == (
        True,
        "Ada <ada@example.com>",
        "Look at more nodes",
    )
    assert status["files"] == [
        {"path": "policies/web.yaml", "policy": "web", "revision": 2, "removed": False, "problems": []}
    ]
    unknown = api_as(Role.VIEWER).get("/api/v1/repositories/platform/status/", {"commit": "0" * 40})
    assert unknown.status_code == 404


HOSTILE = ["U+2028 \u2028 in a subject", "U+0085 \x85, \x1c and \x0b"]


@pytest.mark.parametrize("subject", HOSTILE)
def test_whatever_a_subject_holds_it_is_one_commit(ours: Work, address: str, admin: User, subject: str) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    ours.commit(subject, web=GOOD.format(60))
    assert look().problem == ""
    assert Policy.objects.get(name="web").revisions.get(number=1).comment == subject


def test_whenever_a_commit_says_it_was_written_it_is_read(
    ours: Work, address: str, admin: User, client_as: Callable[[Role], Client]
) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    for number, year_10000 in enumerate(("253402300800 +0000", "253402300799 -1200", "1099511627775 +1400")):
        ours.commit("Later", web=GOOD.format(number + 1))
        commit_object = re.sub(r"(?m)^(committer .*>) .*", rf"\1 {year_10000}", ours.git("cat-file", "commit", "HEAD"))
        (ours.folder / ".git" / "written").write_text(f"{commit_object}\n")
        ours.git("reset", "--quiet", "--hard", ours.git("hash-object", "-t", "commit", "-w", ".git/written"))
        assert look().problem == ""
    assert {repository.written_at.year for repository in Repository.objects.get().commits.all()} == {9999}
    assert client_as(Role.VIEWER).get("/policies/repositories/platform/").status_code == 200


def test_a_branch_of_any_name_is_a_draft(ours: Work, address: str, admin: User) -> None:
    branch = "feature/next\x85line\u2028"
    ours.git("checkout", "--quiet", "-b", branch)
    ours.commit("Draft", web=GOOD.format(70))
    services.repository_save(user=admin, name="platform", url=address, folder="policies", drafts="feature/*")
    assert look().problem == ""
    assert set(Repository.objects.get().files.values_list("branch", flat=True)) == {"", branch}


def test_a_repository_that_cannot_be_read_keeps_no_other_from_being_read(
    ours: Work, address: str, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-broken", "b-sound"):
        services.repository_save(user=admin, name=name, url=address, folder="policies")
    follow = sync._read_new_commits

    def fails(repository: Repository) -> tuple[dict[str, str], str]:
        if repository.name == "a-broken":
            raise ValueError("nobody thought of this")
        return follow(repository)

    monkeypatch.setattr(sync, "_read_new_commits", fails)
    for due in sync.claim_due_repositories():
        sync.repository_look(due)
    broken_repository, sound_repository = Repository.objects.order_by("name")
    assert (broken_repository.problem, sound_repository.problem) == (sync.UNFORESEEN, "")
    assert sound_repository.commit
    assert Repository.objects.get(name="a-broken", due_at__gt=timezone.now())


def test_a_draft_that_cannot_be_read_is_told_and_keeps_no_other_from_being_read(
    ours: Work, address: str, admin: User
) -> None:
    for branch in ("feature/a" + "x" * 220, "feature/b"):
        ours.git("checkout", "--quiet", "-b", branch)
        ours.commit(branch[:20], web=GOOD.format(len(branch)))
    services.repository_save(user=admin, name="platform", url=address, folder="policies", drafts="feature/*")
    assert "Its name has 229 characters: at most 200 are kept." in look().problem
    assert set(Repository.objects.get().files.values_list("branch", flat=True)) == {"", "feature/b"}


def test_a_file_that_is_not_valid_makes_no_revision_and_is_told_by_line(
    ours: Work, address: str, admin: User, api_as: Callable[[Role], APIClient], client_as: Callable[[Role], Client]
) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    look()
    ours.commit("Break it", web=GOOD.format(500), batch=GOOD.format(10))
    look()
    assert (revision_numbers("web"), revision_numbers("batch")) == ([1], [1])
    status = api_as(Role.VIEWER).get("/api/v1/repositories/platform/status/").json()
    batch, web = status["files"]
    assert (status["valid"], batch["revision"], web["revision"]) == (False, 1, None)
    (problem,) = web["problems"]
    assert problem["line"] == 3
    assert problem["message"].startswith("percentageOfNodesToScore: Invalid value: 500: ")
    page = client_as(Role.VIEWER).get("/policies/repositories/platform/").content.decode()
    assert "Line 3:" in page
    assert problem["message"] in page
    ours.commit("Mend it", web=GOOD.format(55))
    look()
    assert revision_numbers("web") == [1, 2]
    assert Repository.objects.get().files.get(path="policies/web.yaml").problems == []


def test_a_policy_from_git_is_changed_there_and_stays_when_its_file_is_gone(
    ours: Work, address: str, admin: User, client_as: Callable[[Role], Client]
) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    look()
    policy = Policy.objects.get(name="web")
    with pytest.raises(Conflict, match=r"comes from policies/web\.yaml in git repository platform"):
        policies.revision_save(policy=policy, document=GOOD.format(70), author=admin, expected=1)
    editor = client_as(Role.EDITOR)
    revisions_page = editor.get("/policies/web/revisions/").content.decode()
    assert "policies/web.yaml" in revisions_page
    assert "Ada &lt;ada@example.com&gt;" in revisions_page
    fields = {name: 'id="comment"' in editor.get(f"/policies/{name}/").content.decode() for name in ("default", "web")}
    assert fields == {"default": True, "web": False}
    ours.commit("Drop it", web=None, batch=GOOD.format(1))
    look()
    assert Policy.objects.filter(name="web").exists()
    assert "no longer in the repository" in client_as(Role.VIEWER).get("/policies/web/revisions/").content.decode()
    policies.revision_save(policy=policy, document=GOOD.format(70), author=admin, expected=1)
    ours.commit("Bring it back", web=GOOD.format(80))
    look()
    assert revision_numbers("web") == [1, 2, 3]


def test_a_policy_that_was_written_here_is_left_alone(ours: Work, address: str, admin: User) -> None:
    policies.policy_create(name="web", document=GOOD.format(1), author=admin)
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    look()
    assert revision_numbers("web") == [1]
    (problem,) = Repository.objects.get().files.get().problems
    assert "exists already and was written here" in problem["message"]


def test_a_branch_that_was_written_anew_is_followed(ours: Work, address: str, admin: User) -> None:
    services.repository_save(user=admin, name="platform", url=address, folder="policies")
    ours.commit("Second", web=GOOD.format(60))
    look()
    ours.git("reset", "--quiet", "--hard", "HEAD~1")
    ours.commit("Another second", web=GOOD.format(61))
    assert look().problem == ""
    newest = Policy.objects.get(name="web").revisions.get(number=2)
    assert "percentageOfNodesToScore: 61" in newest.document


def test_the_secret_opens_it_and_is_never_shown(
    ours: Work, admin: User, tmp_path: Path, api_as: Callable[[Role], APIClient]
) -> None:
    with served(tmp_path / "git", secret=SECRET) as (url, _):
        body = {"name": "platform", "url": f"{url}/repo", "folder": "policies", "secret": "wrong-secret"}
        response = api_as(Role.ADMIN).post("/api/v1/repositories/", body)
        assert (response.status_code, "secret" in response.json()) == (201, False)
        problem = look().problem
        assert "Authentication failed" in problem or "could not read" in problem
        assert "wrong-secret" not in problem
        api_as(Role.ADMIN).put("/api/v1/repositories/platform/", {**body, "secret": SECRET})
        assert look().problem == ""
        assert revision_numbers("web") == [1]
        settings_without_secret = {key: value for key, value in body.items() if key != "secret"}
        api_as(Role.ADMIN).put("/api/v1/repositories/platform/", settings_without_secret | {"branch": "release"})
        assert RepositorySecret.objects.exists()
        moved_settings = settings_without_secret | {"url": f"{url}/other"}
        api_as(Role.ADMIN).put("/api/v1/repositories/platform/", moved_settings)
        assert not RepositorySecret.objects.exists()  # it was given for the other address
    assert SECRET not in str(list(AuditEntry.objects.values_list("details", flat=True)))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://169.254.169.254/repo", "169.254.169.254"),
        ("https://other.example/repo", "other.example"),
        ("ssh://127.0.0.1/repo", "https://"),
        ("ext::sh -c touch% /tmp/x", ""),
        ("--upload-pack=touch", ""),
        ("/etc", "KSCHEDWEB_REPOSITORY_FOLDERS"),
        ("/tmp/../etc", "KSCHEDWEB_REPOSITORY_FOLDERS"),
        ("http://git:secret@127.0.0.1/repo", "in their own fields"),
    ],
)
def test_no_other_address_is_asked(admin: User, url: str, message: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        services.repository_save(user=admin, name="platform", url=url)
    assert message in caught.value.detail
    assert [error["path"] for error in caught.value.errors] == ["url"]
    assert not Repository.objects.exists()


def test_no_more_is_fetched_than_is_allowed(
    followed_repository: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(git, "MAX_FETCHED", 65_536)
    (followed_repository.folder / "large.bin").write_bytes(random.Random(1).randbytes(200_000))
    followed_repository.commit("Add what is no policy", web=GOOD.format(60))
    assert look().problem == "The repository is too large: at most 65,536 bytes are fetched at once."
    assert revision_numbers("web") == [1]
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_a_copy_that_has_grown_is_made_anew(followed_repository: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MAX_COPY", 1)
    followed_repository.commit("Look at more", web=GOOD.format(60))
    assert look().problem == ""
    assert revision_numbers("web") == [1, 2]


def test_no_more_is_read_than_is_allowed(followed_repository: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MAX_OUTPUT", 20)
    followed_repository.commit("Look at more", web=GOOD.format(60))
    assert look().problem == "The repository has too much to say: at most 20 bytes are read at once."


def test_whatever_git_has_started_ends_with_its_time(
    ours: Work, admin: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server accepts, and says nothing: git's own child waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(git, "SECONDS", 1.0)
        services.repository_save(user=admin, name="platform", url=f"http://127.0.0.1:{silent.getsockname()[1]}/repo")
        assert look().problem == "git did not end within 1 s."
    place = str(Repository.objects.get().pk).encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if place in read_if_possible(path)]


def read_if_possible(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_what_differs_on_other_branches_becomes_drafts_until_it_is_merged(
    followed_repository: Work, admin: User, api_as: Callable[[Role], APIClient]
) -> None:
    repository = Repository.objects.get()
    services.repository_save(
        user=admin,
        name=repository.name,
        url=repository.url,
        folder="policies",
        drafts="feature/*",
        repository=repository,
    )
    followed_repository.git("checkout", "--quiet", "-b", "feature/More-nodes")
    head = followed_repository.commit("Look at more", web=GOOD.format(60), wrong=GOOD.format(500))
    followed_repository.git("checkout", "--quiet", "-b", "private")
    followed_repository.commit("Nobody asked for this branch", web=GOOD.format(70))
    assert look().problem == ""
    assert revision_numbers("web") == [1]
    draft = Policy.objects.get(name="web-feature-more-nodes")
    assert "percentageOfNodesToScore: 60" in draft.revisions.get().document
    assert Policy.objects.filter(name__startswith="web").count() == 2
    with pytest.raises(Conflict, match="change it there"):
        policies.revision_save(policy=draft, document=GOOD.format(61), author=admin, expected=1)
    status = api_as(Role.VIEWER).get("/api/v1/repositories/platform/status/", {"commit": head}).json()
    assert (status["branch"], status["valid"]) == ("feature/More-nodes", False)
    assert [(file["policy"], file["revision"]) for file in status["files"]] == [(draft.name, 1), ("", None)]

    followed_repository.git("checkout", "--quiet", "feature/More-nodes")
    followed_repository.commit("Look at more still", web=GOOD.format(65), wrong=None)
    look()
    assert revision_numbers(draft.name) == [1, 2]
    assert not Repository.objects.get().files.filter(path="policies/wrong.yaml").exists()

    followed_repository.git("checkout", "--quiet", "main")
    followed_repository.git("merge", "--quiet", "--no-ff", "-m", "Merge it", "feature/More-nodes")
    look()
    assert revision_numbers("web") == [1, 2]
    assert not Policy.objects.filter(name=draft.name).exists()
    followed_repository.git("branch", "--quiet", "-D", "feature/More-nodes")
    assert look().problem == ""
    assert list(Repository.objects.get().files.values_list("path", "branch")) == [("policies/web.yaml", "")]


def test_a_draft_goes_with_its_branch_unless_a_live_scheduler_uses_it(followed_repository: Work, admin: User) -> None:
    Repository.objects.update(drafts="*")
    for branch in ("one", "two"):
        followed_repository.git("checkout", "--quiet", "-b", branch, "main")
        followed_repository.commit(branch, web=GOOD.format(60))
    look()
    assert set(Policy.objects.filter(name__startswith="web-").values_list("name", flat=True)) == {"web-one", "web-two"}
    cluster = Cluster.objects.create(name="far", source=ClusterSource.TOKEN)
    LiveScheduler.objects.create(cluster=cluster, scheduler_name="ours", policy=Policy.objects.get(name="web-two"))
    followed_repository.git("checkout", "--quiet", "main")
    followed_repository.git("branch", "--quiet", "-D", "one", "two")
    look()
    assert set(Policy.objects.filter(name__startswith="web-").values_list("name", flat=True)) == {"web-two"}
    assert Repository.objects.get().files.get(branch="two").removed


@pytest.mark.parametrize("drafts", ["feature", "*/*", "-*", "../*", "a b*"])
def test_branches_of_drafts_have_one_star(admin: User, address: str, drafts: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        services.repository_save(user=admin, name="platform", url=address, drafts=drafts)
    assert [error["path"] for error in caught.value.errors] == ["drafts"]


def test_a_link_is_told_and_not_followed(followed_repository: Work) -> None:
    (followed_repository.folder / "policies" / "way.yaml").symlink_to("/etc/passwd")
    followed_repository.commit("Link it", web=GOOD.format(60))
    look()
    (problem,) = Repository.objects.get().files.get(path="policies/way.yaml").problems
    assert problem["message"] == "This is a link or another repository: only files are read."
    assert revision_numbers("web") == [1, 2]
    assert not Policy.objects.filter(name="way").exists()


def test_no_redirect_is_followed_and_a_failed_look_is_told(ours: Work, admin: User, tmp_path: Path) -> None:
    with served(tmp_path / "git") as (url, requested_paths):
        services.repository_save(user=admin, name="platform", url=f"{url}/elsewhere")
        assert look().problem.startswith("git: ")
        assert requested_paths == ["/elsewhere/info/refs"]
        services.repository_save(
            user=admin, name="platform", url=f"{url}/repo", branch="nobody", repository=Repository.objects.get()
        )
        assert "nobody" in look().problem


def test_a_folder_of_the_server_is_followed_where_it_is_allowed(ours: Work, admin: User, tmp_path: Path) -> None:
    services.repository_save(user=admin, name="platform", url=str(ours.folder), folder="policies")
    assert look().problem == ""
    assert revision_numbers("web") == [1]
    (tmp_path / "git" / "way").symlink_to("/etc")
    with pytest.raises(ApplicationError, match="not allowed"):
        services.repository_save(user=admin, name="other", url=str(tmp_path / "git" / "way"))


def as_file(repo: Path, elsewhere: Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_text(f"gitdir: {elsewhere / '.git'}\n")


def as_link(repo: Path, elsewhere: Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").symlink_to(elsewhere / ".git")


def by_alternates(repo: Path, elsewhere: Path) -> None:
    (repo / ".git/objects/info/alternates").write_text(f"{elsewhere / '.git/objects'}\n")
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=elsewhere, text=True)
    (repo / ".git/refs/heads/main").write_text(head)


def by_common_folder(repo: Path, elsewhere: Path) -> None:
    (repo / ".git/commondir").write_text(f"{elsewhere / '.git'}\n")


def by_linked_objects(repo: Path, elsewhere: Path) -> None:
    for name in ("objects", "refs"):
        shutil.rmtree(repo / ".git" / name)
        (repo / ".git" / name).symlink_to(elsewhere / ".git" / name)


@pytest.mark.parametrize("leads", [as_file, as_link, by_alternates, by_common_folder, by_linked_objects])
def test_a_folder_that_is_allowed_leads_to_no_other(
    ours: Work, admin: User, tmp_path: Path, leads: Callable[[Path, Path], None]
) -> None:
    private = init_work(tmp_path / "private")
    private.commit("Private", web=GOOD.format(99))
    leads(ours.folder, private.folder)
    services.repository_save(user=admin, name="platform", url=str(ours.folder), folder="policies")
    assert "leads out of the folders of the server that are allowed" in look().problem
    assert not Policy.objects.filter(name="web").exists()


def test_a_worktree_within_the_folders_that_are_allowed_is_followed(ours: Work, admin: User, tmp_path: Path) -> None:
    ours.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "git" / "beside"))
    services.repository_save(user=admin, name="platform", url=str(tmp_path / "git" / "beside"), folder="policies")
    assert look().problem == ""
    assert revision_numbers("web") == [1]


def test_pages_make_change_and_end_it(ours: Work, client_as: Callable[[Role], Client]) -> None:
    client = client_as(Role.ADMIN)
    form_data = {"name": "platform", "url": str(ours.folder), "branch": "main", "folder": "policies", "interval": 60}
    assert client.post("/policies/repositories/", form_data | {"active": "on"}).status_code == 302
    assert client.post("/policies/repositories/platform/", form_data | {"interval": 1}).status_code == 422
    assert client.post("/policies/repositories/platform/look/").status_code == 302
    look()
    assert "Begin" in client.get("/policies/repositories/platform/").content.decode()
    assert client_as(Role.EDITOR).post("/policies/repositories/platform/look/").status_code == 403
    assert client.get("/policies/repositories/platform/delete/").status_code == 200
    assert Repository.objects.exists()
    assert client.post("/policies/repositories/platform/delete/").status_code == 302
    assert not Repository.objects.exists()
    assert Policy.objects.filter(name="web").exists()
