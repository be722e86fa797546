"""Which lines have changed since a revision: git is asked, once for each repository."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from forscan.jobs import Job

_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.M)


_NO_ANSWER = "nothing in common with that revision; was the history cut off?"  # a merge base


class SinceError(Exception):
    """git has no answer; the message is its own."""


def narrow(jobs: list[Job], revision: str) -> Iterator[Job]:
    """The jobs with the loops that have changed since a revision, or since the branch left it.

    A file that git does not track is new.

    Raises:
      SinceError: a file is in no repository, or there is no such revision.
    """
    repository = cache(lambda folder: _Repository.around(folder, revision))
    for job in jobs:
        file = Path(os.path.realpath(job.path))
        lines = repository(file.parent).touched(file)
        selections = tuple(replace(s, touched=lines) for s in job.selections)
        if any(s.touched is None or s.touched for s in selections):
            yield replace(job, selections=selections)


@dataclass(frozen=True)
class _Repository:
    """A work tree, compared with one commit.

    Attributes:
      root: its folder.
      commit: what it is compared with.
      tracked: the files that git knows.
      changed: those of them that differ.
    """

    root: Path
    commit: str
    tracked: frozenset[bytes]
    changed: frozenset[bytes]

    @staticmethod
    def around(folder: Path, revision: str) -> _Repository:
        root = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n")))
        return _compared(root, revision)

    def touched(self, file: Path) -> frozenset[int] | None:
        """The lines of a file that have changed; None for all."""
        name = os.fsencode(file.relative_to(self.root).as_posix())
        if name not in self.tracked:
            return None
        if name not in self.changed:
            return frozenset()
        options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--text")
        found = _git(self.root, "diff", *options, self.commit, "--", str(file))
        return frozenset(line for match in _HUNK.finditer(found) for line in _lines(match))


@cache
def _compared(root: Path, revision: str) -> _Repository:
    named = _git(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    base = _git(root, "merge-base", named.decode().strip(), "HEAD").decode().strip()
    tracked = _git(root, "ls-files", "-z").split(b"\0")
    changed = _git(root, "diff", "--name-only", "--no-renames", "-z", base).split(b"\0")
    return _Repository(root, base, frozenset(tracked), frozenset(changed))


def _lines(hunk: re.Match[bytes]) -> range:
    """The new lines of a hunk; where lines are only gone, the one above them."""
    start, count = int(hunk.group(1)), int(hunk.group(2) or 1)
    return range(start, start + max(count, 1))


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        command = ["git", "--literal-pathspecs", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        raise SinceError("--since needs git") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SinceError(f"git {arguments[0]}: {said[0] if said else _NO_ANSWER}")
    return done.stdout
