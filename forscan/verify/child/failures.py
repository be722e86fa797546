"""What it means that a version raises: the same error in both is the same behaviour."""

from __future__ import annotations

import re
from typing import Any

from .errors import line
from .same import same_class


def verdict(old: Exception | None, new: Exception | None, path: str) -> dict[str, Any]:
    """The verdict on two versions of which at least one raises.

    Args:
      path: the file of both, whose functions must have run: a call that they cannot even
        be given says nothing of them.
    """
    if old is None or new is None:
        raising, other = ("new version", "original") if old is None else ("original", "new version")
        error = new if old is None else old
        assert error is not None
        reason = f"the {raising} raises {line(error)}"
        if old is not None:
            reason += f", the {other} does not"
        return {"status": "different", "evidence": "measured", "reason": reason}
    if not (_ran(old, path) and _ran(new, path)):
        reason = f"both versions raise {line(old)}"
        return {"status": "unknown", "reason": reason, "raises": line(old)}
    if not same_class(type(old), type(new)):
        return {
            "status": "different",
            "evidence": "measured",
            "reason": f"{line(old)} became {line(new)}",
        }
    if _words(old) != _words(new):
        reason = f"both raise {type(old).__name__}, but say other things: {line(old)}; {line(new)}"
        return {"status": "unknown", "reason": reason, "raises": line(old)}
    reason = f"both raise {line(old)}"
    return {"status": "equal", "evidence": "measured", "reason": reason, "raises": line(old)}


def _words(error: Exception) -> str:
    """What an error says, without the addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(error))


def _ran(error: Exception, path: str) -> bool:
    """Whether something in a file was run when it was raised."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            return True
        trace = trace.tb_next
    return False
