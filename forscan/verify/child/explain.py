"""Where two versions that differ begin to, and a small input for which they do."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from .call import Call
from .cuts import Versions
from .first import first_iteration
from .shrink import smallest

_OF_COPIES = 0.4  # of the time that is left, where loops are cut
_FEWEST = 2  # iterations, with which it is tried first


def explained(
    calls: tuple[Call, Call],
    data: list[Any],
    versions: Versions,
    deadline: float,
    stage: Callable[[str], None],
    *,
    cut: bool,
) -> dict[str, str]:
    """The first iteration and the smallest input, each of them empty where it is not found.

    Args:
      calls: of the versions.
      data: in place of the data in the calls.
      versions: whose loops can be cut.
      deadline: by `time.monotonic`, when there should be a verdict.
      stage: is told what goes on.
      cut: whether loops are cut already.
    """
    if not cut:
        return _explanation(calls, data, versions, deadline, stage)
    until = time.monotonic() + _OF_COPIES * (deadline - time.monotonic())
    with versions.to(_FEWEST):  # which mostly shows it, and is soon run
        found = _explanation(calls, data, versions, until, stage)
    return found if any(found.values()) else _explanation(calls, data, versions, until, stage)


def _explanation(
    calls: tuple[Call, Call],
    data: list[Any],
    versions: Versions,
    until: float,
    stage: Callable[[str], None],
) -> dict[str, str]:
    found = {}
    stage("looking for the first iteration that differs")
    with contextlib.suppress(Exception):  # of runs that nobody has asked for
        found["first"] = first_iteration(versions, calls, data, until)
    stage("looking for a small input")
    with contextlib.suppress(Exception):
        found["smallest"] = smallest(*calls, data, until)
    return found
