"""Run the program ``git`` for one branch of one repository, bounded in time, size and network access.

A server's name is resolved and checked once, and git is told to connect to that address. It follows no redirect, runs
no hook and no helper, asks nobody, and reads no settings of the machine. The secret is passed in the environment.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from kschedweb.clusters.connecting.addresses import REPOSITORIES, endpoint_check
from kschedweb.policies.repositories.folders import folder_check, git_folder
from kschedweb.web.errors import ApplicationError

# Seconds for one call.
SECONDS = 60.0
MOST_COMMITS, MOST_BRANCHES, MOST_FILES, LARGEST_FILE = 200, 50, 500, 1 << 20
MIB = 1 << 20
# In bytes: one fetch, the memory of git and of all that it starts, its output, a copy on the disk.
MAX_FETCHED, MAX_MEMORY, MAX_OUTPUT, MAX_COPY = 64 * MIB, 2048 * MIB, 16 * MIB, 256 * MIB
# The first version that can be told the address of a server's name (http.curloptResolve).
OLDEST = (2, 37)
SUFFIXES = (".yaml", ".yml")
# Characters.
LONGEST_BRANCH, LONGEST_PATH = 200, 500
# Commit, author, seconds of the epoch and subject, separated by NUL, which none of them can contain.
FORMAT = "%H%x00%an <%ae>%x00%ct%x00%s"
# The last moment that every time zone can write.
LATEST = datetime(9999, 12, 30, tzinfo=UTC).timestamp()


class GitError(ApplicationError):
    """git could not do what it was asked. The message is for people and holds no secret."""


@dataclass(frozen=True)
class Commit:
    # The full hash.
    commit: str
    author: str
    written_at: datetime
    subject: str


@dataclass(frozen=True)
class File:
    """An entry of a tree."""

    path: str
    # git's name of the content.
    blob: str
    # Bytes; None for a link or a submodule.
    size: int | None


@dataclass(frozen=True)
class GitResult:
    status: int
    output: bytes
    errors: str


def git_version() -> tuple[int, ...]:
    """Return the version of the program; () if it is not installed."""
    try:
        output = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    except FileNotFoundError:
        return ()
    match = re.search(r"(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else ()


def address_check(url: str) -> list[str]:
    """Return git's settings for connecting to ``url``. Raises AddressError, or FolderError for a path not allowed."""
    if url.startswith("/"):
        folder_check(url)
        return []
    endpoint = endpoint_check(url, carries="the policies", rule=REPOSITORIES)
    # curl wants IPv6 addresses in brackets.
    literal = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return [f"http.curloptResolve={endpoint.host}:{endpoint.port}:{literal}"]


@dataclass(frozen=True)
class Clone:
    """A bare copy of one branch and of drafts. It may be lost at any time."""

    folder: Path
    url: str
    branch: str
    # Branches of drafts, with one star; "" for none.
    draft_pattern: str = ""
    username: str = ""
    secret: str = ""

    def fetch(self) -> str:
        """Bring the branches up to date and return the commit of the followed one. Raises GitError."""
        options = address_check(self.url)
        source, exactly = self.url, list[str]()
        # With --strict, git-upload-pack takes no other folder than the one that was checked.
        if self.url.startswith("/"):
            source, exactly = git_folder(self.url), ["--upload-pack=git-upload-pack --strict"]
        # Old objects pile up because gc is off: a copy that is too large is fetched again.
        if _folder_size(self.folder) > MAX_COPY:
            shutil.rmtree(self.folder)
        if not (self.folder / "HEAD").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._run_git("init", "--bare", "--quiet")
        refspecs = [f"+refs/heads/{self.branch}:refs/heads/followed"]
        if self.draft_pattern:
            refspecs.append(f"+refs/heads/{self.draft_pattern}:refs/heads/drafts/{self.draft_pattern}")
        how = ("--quiet", "--no-tags", "--force", "--prune", f"--depth={MOST_COMMITS}")
        try:
            self._run_git("fetch", *how, *exactly, "--", source, *refspecs, options=options)
        except GitError:
            # git only says that it was killed; the size of its unfinished pack tells why.
            if not any(pack.stat().st_size >= MAX_FETCHED for pack in self.folder.glob("objects/pack/tmp_pack_*")):
                raise
            shutil.rmtree(self.folder)
            raise GitError(
                f"The repository is too large: at most {_format_size(MAX_FETCHED)} are fetched at once."
            ) from None
        return self._run_git("rev-parse", "--verify", "refs/heads/followed").strip()

    def draft_heads(self) -> dict[str, str]:
        """Return the draft branches with their newest commits. If there are many, those that changed last."""
        options = [f"--count={MOST_BRANCHES}", "--sort=-committerdate", "--format=%(refname:lstrip=3)%00%(objectname)"]
        text = self._run_git("for-each-ref", *options, "refs/heads/drafts/") if self.draft_pattern else ""
        heads = dict(line.split("\0") for line in _split_lines(text))
        return {
            # git's star also matches "/", and the followed branch may fit the pattern.
            name: head
            for name, head in heads.items()
            if fnmatchcase(name, self.draft_pattern) and name != self.branch
        }

    def list_commits(self, since: str, head: str, folder: str) -> list[Commit]:
        """List the commits after ``since`` that changed ``folder``, oldest first; only ``head`` if ``since`` is
        unknown.
        """
        # After a forced push ``since`` may be gone, and there is no span from it.
        is_ancestor = since and self._succeeds("merge-base", "--is-ancestor", since, head)
        span = [f"{since}..{head}"] if is_ancestor else ["--max-count=1", head]
        path_arguments = ["--", folder] if folder and is_ancestor else []
        text = self._run_git("log", "--first-parent", "--reverse", f"--format={FORMAT}", *span, *path_arguments)
        return [_parse_commit(line) for line in _split_lines(text)]

    def list_files(self, commit: str, folder: str) -> Iterator[File]:
        """List the YAML files in ``folder``, but not in folders below it."""
        path_arguments = ["--", f"{folder}/"] if folder else []
        for entry in self._run_git("ls-tree", "-z", "--long", commit, *path_arguments).split("\0"):
            metadata, _, path = entry.partition("\t")
            if path.endswith(SUFFIXES):
                if len(path) > LONGEST_PATH:
                    raise GitError(f"The path of a file has {len(path):,} characters: at most {LONGEST_PATH} are kept.")
                mode, kind, name, size = metadata.split()
                if kind != "tree":
                    # Modes 120000 are links; entries of kind commit are submodules.
                    yield File(path, name, int(size) if kind == "blob" and not mode.startswith("12") else None)

    def read_content(self, blob: str) -> str:
        """Return the text of a file. Raises GitError if it is not text."""
        try:
            return self._run_process("cat-file", "blob", blob).output.decode()
        except UnicodeDecodeError:
            raise GitError("The file is not text in UTF-8.") from None

    def _succeeds(self, *arguments: str) -> bool:
        return self._run_process(*arguments).status == 0

    def _run_git(self, *arguments: str, options: list[str] | None = None) -> str:
        result = self._run_process(*arguments, options=options or [])
        if result.status:
            lines = [line for line in _split_lines(result.errors) if line.strip()]
            raise GitError(f"git: {self._hide_secret(lines[-1] if lines else f'exit status {result.status}')}"[:500])
        return result.output.decode(errors="replace")

    def _hide_secret(self, text: str) -> str:
        return text.replace(self.secret, "***") if self.secret else text

    def _run_process(self, *arguments: str, options: list[str] | None = None) -> GitResult:
        """Run git with all that it starts. All of it ends together: at its end, after ``SECONDS``, or after too much
        output.
        """
        # The limits hold for all that git starts. The shell counts files in blocks of 512 bytes, and memory in KiB.
        limited = f'ulimit -f {MAX_FETCHED // 512} && ulimit -v {MAX_MEMORY // 1024} && exec git "$@"'
        late = threading.Event()
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(  # noqa: S603 (no option comes from a person)
                ["sh", "-c", limited, "git", *arguments],  # noqa: S607
                cwd=self.folder, env=self._build_environment(options or []), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
            )  # fmt: skip

            def kill_group() -> None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

            def on_timeout() -> None:
                late.set()
                kill_group()

            timer = threading.Timer(SECONDS, on_timeout)
            timer.start()
            assert process.stdout is not None
            with process.stdout:
                output = process.stdout.read(MAX_OUTPUT + 1)
            if len(output) > MAX_OUTPUT:
                kill_group()
            # WNOWAIT leaves a zombie, so the process group's number cannot be reused before it is killed.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            timer.cancel()
            kill_group()
            status = process.wait()
            errors.seek(0)
            error_text = errors.read(MAX_OUTPUT).decode(errors="replace")
        if late.is_set():
            raise GitError(f"git did not end within {SECONDS:.0f} s.")
        if len(output) > MAX_OUTPUT:
            raise GitError(f"The repository has too much to say: at most {_format_size(MAX_OUTPUT)} are read at once.")
        if status == 127:
            raise GitError("The program git is not installed where this site's workers run.")
        return GitResult(status, output, error_text)

    def _build_environment(self, options: list[str]) -> dict[str, str]:
        settings = [
            "http.followRedirects=false", "credential.helper=", "core.hooksPath=/dev/null", "gc.auto=0",
            "transfer.fsckObjects=true", "safe.directory=*",
            # One pack in one file, so that its limit counts; what is larger than a policy may be is never in memory.
            "fetch.unpackLimit=1", f"core.bigFileThreshold={LARGEST_FILE}", "pack.threads=1", *options,
        ]  # fmt: skip
        if self.secret:
            both = base64.b64encode(f"{self.username or 'git'}:{self.secret}".encode()).decode()
            settings.append(f"http.extraHeader=Authorization: Basic {both}")
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
        }
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_DIR": str(self.folder)}
        # A repository must not make git ask other servers for objects that it lacks.
        environment |= {"GIT_NO_LAZY_FETCH": "1"}
        environment |= {"GIT_ALLOW_PROTOCOL": "file" if self.url.startswith("/") else "https:http"}
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, setting in enumerate(settings):
            name, _, value = setting.partition("=")
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return environment


def _folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _format_size(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size:,} bytes"


def _split_lines(text: str) -> list[str]:
    """Return the lines as git ends them. ``splitlines`` would also split at characters that subjects and names may
    hold.
    """
    return [line for line in text.split("\n") if line]


def _parse_commit(line: str) -> Commit:
    name, author, seconds, subject = line.split("\0", 3)
    return Commit(name, author[:300], _parse_moment(seconds), subject[:300])


def _parse_moment(seconds: str) -> datetime:
    """Return the moment that a commit names. It may be any number, or none at all."""
    timestamp = int(seconds) if seconds.isdecimal() else 0
    return datetime.fromtimestamp(min(timestamp, LATEST), UTC)
