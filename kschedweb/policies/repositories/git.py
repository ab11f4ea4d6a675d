"""The program ``git``, asked for one branch of one repository: bounded in time and size, and led nowhere else.

A server's name is resolved and checked once, and git is told to connect to that address. It follows no redirect, runs
no hook and no helper, asks nobody, and reads no settings of the machine. The secret goes in by the environment.
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

SECONDS = 60.0  # for one call
MOST_COMMITS, MOST_BRANCHES, MOST_FILES, LARGEST_FILE = 200, 50, 500, 1 << 20
MIB = 1 << 20
# Of what is fetched at once, of the memory of git and of all that it starts, of what it may say, of a copy on the disk.
MAX_FETCHED, MAX_MEMORY, MAX_OUTPUT, MAX_COPY = 64 * MIB, 2048 * MIB, 16 * MIB, 256 * MIB
OLDEST = (2, 37)  # that can be told the address of a server's name
SUFFIXES = (".yaml", ".yml")
LONGEST_BRANCH, LONGEST_PATH = 200, 500  # characters
FORMAT = "%H%x00%an <%ae>%x00%ct%x00%s"
LATEST = datetime(9999, 12, 30, tzinfo=UTC).timestamp()  # that every time zone can write


class GitError(ApplicationError):
    """git could not do what was asked; the message is for people and holds no secret."""


@dataclass(frozen=True)
class Commit:
    commit: str
    author: str
    written_at: datetime
    subject: str


@dataclass(frozen=True)
class File:
    """``blob`` is git's name of its content; ``size`` is in bytes, and ``None`` where it is no file but a link."""

    path: str
    blob: str
    size: int | None


@dataclass(frozen=True)
class GitResult:
    status: int
    output: bytes
    errors: str


def git_version() -> tuple[int, ...]:
    """Of the program; () where there is none."""
    try:
        output = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    except FileNotFoundError:
        return ()
    match = re.search(r"(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else ()


def address_check(url: str) -> list[str]:
    """git's settings for connecting to ``url``. Raises AddressError, or FolderError for a path that is not allowed."""
    if url.startswith("/"):
        folder_check(url)
        return []
    endpoint = endpoint_check(url, carries="the policies", rule=REPOSITORIES)
    literal = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return [f"http.curloptResolve={endpoint.host}:{endpoint.port}:{literal}"]


@dataclass(frozen=True)
class Clone:
    """A bare copy of one branch and of ``draft_pattern`` in ``folder``, which may be lost at any time."""

    folder: Path
    url: str
    branch: str
    draft_pattern: str = ""  # branches, with one star; "" is none
    username: str = ""
    secret: str = ""

    def fetch(self) -> str:
        """Bring the branches up to date; returns the commit of the first. Raises GitError."""
        options = address_check(self.url)
        source, exactly = self.url, list[str]()
        if self.url.startswith("/"):  # git-upload-pack takes no other folder than the one that was looked at
            source, exactly = git_folder(self.url), ["--upload-pack=git-upload-pack --strict"]
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
            if not any(pack.stat().st_size >= MAX_FETCHED for pack in self.folder.glob("objects/pack/tmp_pack_*")):
                raise
            shutil.rmtree(self.folder)
            raise GitError(
                f"The repository is too large: at most {_format_size(MAX_FETCHED)} are fetched at once."
            ) from None
        return self._run_git("rev-parse", "--verify", "refs/heads/followed").strip()

    def draft_heads(self) -> dict[str, str]:
        """The other branches, each with its newest commit; those that changed last where there are many."""
        options = [f"--count={MOST_BRANCHES}", "--sort=-committerdate", "--format=%(refname:lstrip=3)%00%(objectname)"]
        text = self._run_git("for-each-ref", *options, "refs/heads/drafts/") if self.draft_pattern else ""
        heads = dict(line.split("\0") for line in _split_lines(text))
        return {
            name: head for name, head in heads.items() if fnmatchcase(name, self.draft_pattern) and name != self.branch
        }

    def list_commits(self, since: str, head: str, folder: str) -> list[Commit]:
        """The commits after ``since`` that changed ``folder``, oldest first; the last one alone where there is none."""
        is_ancestor = since and self._succeeds("merge-base", "--is-ancestor", since, head)
        span = [f"{since}..{head}"] if is_ancestor else ["--max-count=1", head]
        path_arguments = ["--", folder] if folder and is_ancestor else []
        text = self._run_git("log", "--first-parent", "--reverse", f"--format={FORMAT}", *span, *path_arguments)
        return [_parse_commit(line) for line in _split_lines(text)]

    def list_files(self, commit: str, folder: str) -> Iterator[File]:
        """Each YAML file in ``folder``, not in folders below it."""
        path_arguments = ["--", f"{folder}/"] if folder else []
        for entry in self._run_git("ls-tree", "-z", "--long", commit, *path_arguments).split("\0"):
            metadata, _, path = entry.partition("\t")
            if path.endswith(SUFFIXES):
                if len(path) > LONGEST_PATH:
                    raise GitError(f"The path of a file has {len(path):,} characters: at most {LONGEST_PATH} are kept.")
                mode, kind, name, size = metadata.split()
                if kind != "tree":
                    yield File(path, name, int(size) if kind == "blob" and not mode.startswith("12") else None)

    def read_content(self, blob: str) -> str:
        """The text of a file. Raises GitError where it is none."""
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
        """git and all that it starts, which end together: at its end, after ``SECONDS``, or when it says too much."""
        # The limits go to whatever it starts. The shell counts files in blocks of 512 bytes, memory in KiB.
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
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its number stays taken
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
        environment |= {"GIT_NO_LAZY_FETCH": "1"}  # a repository cannot have others asked for what it lacks
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
    """The lines as git ends them. ``splitlines`` also ends them at characters that subjects and names may hold."""
    return [line for line in text.split("\n") if line]


def _parse_commit(line: str) -> Commit:
    name, author, seconds, subject = line.split("\0", 3)
    return Commit(name, author[:300], _parse_moment(seconds), subject[:300])


def _parse_moment(seconds: str) -> datetime:
    """When a commit says that it was written: any number, or none at all."""
    timestamp = int(seconds) if seconds.isdecimal() else 0
    return datetime.fromtimestamp(min(timestamp, LATEST), UTC)
