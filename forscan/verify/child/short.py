"""Programs that are too long to be traced or compiled as they are: answers from short copies.

In both versions the same loops are cut to the same number of iterations, and the copies are judged
as any two versions are. That is evidence and no proof: nobody has seen the later iterations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .call import Call
from .copies import compared, copies, figures
from .cuts import Shape, Versions
from .environment import environment
from .errors import line
from .program import Program
from .timing import of_one

_SHARE = 0.07  # of the time that is left, for building copies
_OF_COMPILING = 0.1  # of it, for compiling the whole, which gradients and transforms do again
_ADVICE = "give a call for which its loops are shorter"


@dataclass(frozen=True)
class Short:
    """How both versions are cut, and what they cost as they are.

    Attributes:
      trips: what loops are cut to; 0 where they cannot be cut.
      reason: how the loops are cut, or why they cannot be.
      costs: of both versions.
    """

    trips: int
    reason: str
    costs: tuple[dict[str, Any], ...] = ()

    def instead(self, deadline: float) -> bool:
        """Whether copies say more than compiling the whole would in the time that is left."""
        left = deadline - time.monotonic()
        return any(c["compile_s"] > _OF_COMPILING * left for c in self.costs)


def shortened(
    calls: Sequence[Call], programs: Sequence[Program], versions: Versions, deadline: float
) -> Short:
    """How to cut the loops of both versions so that copies can be judged.

    Args:
      calls: of both versions.
      programs: of both, traced unless that takes too long.
      versions: whose loops can be cut.
      deadline: by `time.monotonic`, when there should be a verdict.
    """
    cuts = versions.old, versions.new
    light, heavy = sorted((0, 1), key=lambda k: (not programs[k].traced, programs[k].equations))
    end = time.monotonic() + _SHARE * (deadline - time.monotonic())
    try:
        found = copies(calls[heavy], cuts[heavy], end)
        copy = compared(found)
        if copy.run == copy.whole:
            return Short(0, f"it takes too long to trace, though it has no long loop; {_ADVICE}")
        with cuts[light].to(copy.trips):
            Program(calls[light]).trace()
            other = cuts[light].shape
        if copy.shape != other:
            pair = (copy.shape, other)[:: 1 if heavy == 0 else -1]
            return Short(0, _unlike(*pair))
        costs = {heavy: figures(found, programs[heavy] if programs[heavy].traced else None)}
        if programs[light].traced:
            programs[light].compile()
            costs[light] = of_one(programs[light])
        else:
            costs[light] = figures(copies(calls[light], cuts[light], end), None)
    except Exception as e:
        return Short(0, f"with its loops cut short it raises {line(e)}; {_ADVICE}")
    reason = f"loops of {described(copy.shape)} iterations were cut to {copy.trips}"
    return Short(copy.trips, reason, (costs[0], costs[1]))


def by_copies(
    answer: dict[str, Any], short: Short, counted: str, known: dict[str, Any] | None
) -> dict[str, Any]:
    """The verdict on the whole.

    Args:
      answer: on the copies.
      counted: what behind a loop may know how often it ran, which need not be so in copies.
      known: what is known of the outputs of the whole, None where nothing is.
    """
    if known is not None:
        return _besides(answer, short, known)
    found = answer | {"cut_to": short.trips}
    if answer["status"] == "different" and counted:
        reason = f"{short.reason}, where {answer['reason']}; that may be so because {counted}"
        return {"status": "unknown", "reason": f"{reason}; {_ADVICE}"}
    if answer["status"] != "equal":
        return found | {"reason": f"{short.reason}, where {answer['reason']}"}
    found["evidence"] = "measured"
    if "gradient_evidence" in found:
        found["gradient_evidence"] = "measured"
    found["reason"] = "; ".join(filter(None, (short.reason, answer["reason"])))
    return found | _costs(short)


def _besides(answer: dict[str, Any], short: Short, known: dict[str, Any]) -> dict[str, Any]:
    """What copies show of gradients and transforms, beside what is known of the outputs."""
    if known["status"] == "different":
        return known | {k: answer[k] for k in ("first", "smallest") if k in answer}
    names = ("gradient", "vmap", "jvp", "reached")
    kept: dict[str, Any] = {name: answer[name] for name in names if name in answer}
    differs = "different" in kept.values()
    found = {"reason": "", **known, **_costs(short)}
    notes = [found["reason"], f"gradients and transforms are of copies: {short.reason}"]
    if answer["status"] == "equal" or differs:
        found |= kept
        found["gradient_evidence"] = "measured"
    else:
        notes[1] = f"gradients were not compared: {short.reason}, where {answer['reason']}"
    found["reason"] = "; ".join(filter(None, notes))
    if differs:
        reason = f"{short.reason}, where {answer['reason']}"
        found |= {"status": "different", "evidence": "measured", "reason": reason}
    return found


def _costs(short: Short) -> dict[str, Any]:
    before, after = short.costs
    return {"before": before, "after": after, "environment": environment()}


def _unlike(old: Shape, new: Shape) -> str:
    runs = [f"{described(s)} iterations" if s else "none" for s in (old, new)]
    return (
        f"it takes too long to trace, and its loops cannot be cut alike in both versions: "
        f"{runs[0]} became {runs[1]}; {_ADVICE}"
    )


def described(shape: Shape) -> str:
    """How often loops run, such as `1,000 > 20` for one in another."""
    return ", ".join(dict.fromkeys(map(_one, shape)))


def _one(loop: Shape) -> str:
    count, *iterations = loop
    text = "?" if count is None else f"{count:,}"
    inner = list(dict.fromkeys(described(each) for each in iterations if each))
    if not inner:
        return text
    several = len(inner) > 1 or any(len(each) > 1 for each in iterations)
    return f"{text} > ({' or '.join(inner)})" if several else f"{text} > {inner[0]}"
