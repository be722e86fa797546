"""Writes the neutral loop as a body function and a call of `lax.fori_loop`."""

from __future__ import annotations

from forscan.model import Loop, Refusal, Refused, Spelling
from forscan.syntax.code import indent
from forscan.syntax.fresh import Fresh
from forscan.writers.common import may_forget, packed, parameter, spaced


def write(loop: Loop, fresh: Fresh, spelling: Spelling) -> str:
    """The statements of a fori_loop, at indentation zero.

    Raises:
      Refused: the loop has outputs, which fori_loop cannot give back.
    """
    counter = loop.counter
    if loop.outputs:
        raise Refused(
            Refusal(
                "FSC501",
                "the loop has an output per iteration, and fori_loop gives back only what it carries",
                "Convert it to a scan: `--to scan`.",
            )
        )
    assert counter is not None and not loop.elements and not loop.reverse
    assert counter.step == "1"
    name = loop.name or fresh.name("body", "step", "loop_body")
    carry, take_carry = parameter([c.target for c in loop.carries], fresh, "carry", "state")
    index = counter.name
    if index == carry:
        carry = fresh.name("unused")
    updates = ", ".join(c.update for c in loop.carries) or "None"
    text = loop.body.text.strip("\n")
    head = spaced(take_carry, [text] if text else [])
    body = "\n".join([*head, f"return {updates}"])
    definition = f"def {name}({index}, {carry}):\n{indent(body, spelling.unit)}\n"
    arguments = [
        counter.start,
        counter.stop,
        name,
        packed([c.init for c in loop.carries]),
    ]
    if loop.unroll is not None:
        arguments.append(f"unroll={loop.unroll}")
    call = f"{spelling.lax}.fori_loop({', '.join(arguments)})"
    results = [c.result or "_" for c in loop.carries]
    if "_" in results and not may_forget(fresh):
        spare = fresh.name("unused")
        results = [spare if r == "_" else r for r in results]
    line = f"{', '.join(results)} = {call}" if any(r != "_" for r in results) else call
    return "\n".join([*spaced(list(loop.before), [definition, line]), *loop.after])
