"""Writes the neutral loop as a Python `for`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from forscan.model import Carry, Element, Loop, Output, Spelling
from forscan.syntax.code import expression, indent
from forscan.syntax.fresh import Fresh
from forscan.syntax.names import reads
from forscan.syntax.parsing import parse
from forscan.syntax.rename import renamed
from forscan.syntax.slices import reversed_of, uncut
from forscan.syntax.walk import walk
from forscan.writers.common import may_forget


def write(loop: Loop, fresh: Fresh, spelling: Spelling) -> str:
    """The statements of a `for`, at indentation zero."""
    lists = _lists(loop, fresh)
    header, head = _header(loop, fresh, spelling)
    body = [*head, *filter(None, [loop.body.text])]
    body += _end(loop, [f"{name}.append({output.value})" for output, name in lists])
    stacks, after = _stacks(loop, lists, spelling)
    lines = [
        *loop.before,
        *_assign([(c.target, c.init) for c in loop.carries if c.init != "None" or c.result]),
        *(f"{name} = []" for _, name in lists),
        header,
        indent("\n".join(body) or "pass", spelling.unit),
        *_results(loop.carries),
        *stacks,
        *after,
    ]
    return "\n".join(lines)


def _end(loop: Loop, appends: list[str]) -> list[str]:
    """The new state and the outputs, in the order of the scan where no output needs the old state."""
    changed = {n for c in loop.carries if c.target != c.update for n in _names(c.target)}
    updates = _assign([(c.target, c.update) for c in loop.carries])
    needed = any(changed & set(_names(o.value)) for o in loop.outputs)
    return [*appends, *updates] if needed else [*updates, *appends]


def _lists(loop: Loop, fresh: Fresh) -> list[tuple[Output, str]]:
    """Outputs that somebody reads, each with the name of its list."""
    inside = set(reads(loop.body.statements))
    for text in [c.init for c in loop.carries] + [e.source for e in loop.elements]:
        inside |= set(reads(expression(text)))
    targets = {n for c in loop.carries for n in _names(c.target)}
    found = []
    for output in loop.outputs:
        result = output.result
        if result is None or (result == "_" and may_forget(fresh)):
            continue
        used = set(_names(output.value)) | inside | targets
        name = (
            result if result.isidentifier() and result not in used else fresh.name("ys", "outputs")
        )
        found.append((output, name))
    return found


def _names(text: str) -> list[str]:
    return [n.id for n in walk(parse(text.strip())) if isinstance(n, ast.Name)]


def _assign(pairs: list[tuple[str, str]]) -> list[str]:
    """Assignments that happen at once: on one line where their order would matter."""
    whole = [(target, value) for target, value in pairs if target != value]
    pairs = [(_bare(target), value) for target, value in whole]
    written: set[str] = set()
    mixed = False
    for target, value in pairs:
        mixed = mixed or bool(written & set(_names(value)))
        written |= set(_names(target))
    if mixed:
        return [f"{', '.join(t for t, _ in whole)} = {', '.join(v for _, v in whole)}"]
    return [f"{target} = {value}" for target, value in pairs]


def _bare(target: str) -> str:
    """A pattern without the parentheses around it."""
    node = expression(target)
    is_pattern = isinstance(node, ast.Tuple) and len(node.elts) > 1
    # `expression` sets parentheses of its own, at column 0.
    return target[1:-1] if is_pattern and node.col_offset == 1 else target


def _header(loop: Loop, fresh: Fresh, spelling: Spelling) -> tuple[str, list[str]]:
    """The `for` line, and what the body begins with."""
    if any(not e.is_array and not e.parts for e in loop.elements):
        return _indexed(loop, fresh, spelling)
    counter = loop.counter
    sources = [_iterable(e, loop) for e in loop.elements]
    targets = [e.target for e in loop.elements]
    if counter is not None:
        numbers = _direction(f"range({counter.range})", loop)
        if not targets:
            return f"for {counter.name} in {numbers}:", []
        if counter.step == "1" and not loop.reverse and _tells_length(loop.elements[0]):
            target, source = _together(targets, sources, loop)
            target = target if len(targets) == 1 else f"({target})"
            start = "" if counter.start == "0" else f", start={counter.start}"
            return f"for {counter.name}, {target} in enumerate({source}{start}):", []
        targets, sources = [counter.name, *targets], [numbers, *sources]
    if not targets:
        spare = "_" if may_forget(fresh) else fresh.name("trip")
        return f"for {spare} in {_direction(f'range({loop.length})', loop)}:", []
    target, source = _together(targets, sources, loop)
    return f"for {target} in {source}:", []


def _together(targets: list[str], sources: list[str], loop: Loop) -> tuple[str, str]:
    """The target and the iterable that take all sources in step."""
    if len(targets) == 1:
        return targets[0], sources[0]
    return ", ".join(targets), _zip(sources, loop)


def _zip(sources: Sequence[str], loop: Loop) -> str:
    """A zip that raises where a scan has: on arrays of different lengths."""
    strict = ", strict=True" if loop.strict else ""
    return f"zip({', '.join(sources)}{strict})"


def _iterable(element: Element, loop: Loop) -> str:
    if element.parts:
        return _zip([_direction(part, loop) for part in element.parts], loop)
    return _direction(element.source, loop)


def _tells_length(element: Element) -> bool:
    """Whether the length of an iterable can be told from that of an array with a name."""
    first = expression(element.parts[0] if element.parts else element.source)
    return isinstance(uncut(first)[0], ast.Name | ast.Attribute)


def _direction(source: str, loop: Loop) -> str:
    if not loop.reverse:
        return source
    if source.startswith("range("):
        return f"reversed({source})"
    forwards = reversed_of(source)
    if forwards is not None:
        return forwards
    atom = isinstance(expression(source), ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{source}[::-1]" if atom else f"({source})[::-1]"


def _indexed(loop: Loop, fresh: Fresh, spelling: Spelling) -> tuple[str, list[str]]:
    """Pytrees are sliced leaf by leaf at an index."""
    index = loop.counter.name if loop.counter is not None else fresh.name("i", "k", "index")
    head = [f"{e.target} = {_slice(e, index, spelling)}" for e in loop.elements]
    numbers = f"range({loop.counter.range if loop.counter is not None else loop.length})"
    return f"for {index} in {_direction(numbers, loop)}:", head


def _slice(element: Element, index: str, spelling: Spelling) -> str:
    if element.is_array:
        return f"{element.source}[{index}]"
    return spelling.sliced_leaves(element.source, index)


def _stacks(
    loop: Loop, lists: list[tuple[Output, str]], spelling: Spelling
) -> tuple[list[str], list[str]]:
    """The statements that stack the lists, and those behind them.

    A stack that only the next statement reads stands in that statement.
    """
    lines, after = [], list(loop.after)
    for output, name in lists:
        stack = _stack(output, name, loop, spelling)
        assert output.result is not None
        if output.inline and after and _names(after[0]).count(output.result) == 1:
            after[0] = renamed(after[0], {output.result: stack})
        else:
            lines.append(f"{_bare(output.result)} = {stack}")
    return lines, after


def _stack(output: Output, name: str, loop: Loop, spelling: Spelling) -> str:
    ys = f"{name}[::-1]" if loop.reverse else name
    if output.is_array:
        return f"{spelling.jnp}.stack({ys})"
    return spelling.stacked_leaves(ys)


def _results(carries: tuple[Carry, ...]) -> list[str]:
    return _assign([(c.result, c.target) for c in carries if c.result is not None])
