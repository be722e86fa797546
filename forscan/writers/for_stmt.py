"""Writes the neutral loop as a Python `for`."""

from __future__ import annotations

import ast

from forscan.model import Carry, Counter, Element, Loop, Output, Spelling
from forscan.syntax.code import expression, indent
from forscan.syntax.names import Fresh, reads
from forscan.syntax.rename import renamed
from forscan.syntax.walk import walk
from forscan.writers.common import may_forget


def write(loop: Loop, fresh: Fresh, spelling: Spelling) -> str:
    """The statements of a `for`, at indentation zero."""
    lists = _lists(loop, fresh)
    header, head = _header(loop, fresh, spelling)
    body = [*head, *filter(None, [loop.body.text])]
    body += [f"{name}.append({output.value})" for output, name in lists]
    body += _assign([(c.target, c.update) for c in loop.carries])
    stacks, after = _stacks(loop, lists, spelling)
    lines = [
        *loop.before,
        *_assign([(c.target, c.init) for c in loop.carries if c.init != "None" or c.result]),
        *(f"{name} = []" for _, name in lists),
        header,
        indent("\n".join(body) or "pass", spelling.unit),
        *stacks,
        *_results(loop.carries),
        *after,
    ]
    return "\n".join(lines)


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
    return [n.id for n in walk(ast.parse(text.strip())) if isinstance(n, ast.Name)]


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
        numbers = f"range({counter.range})"
        numbers = f"reversed({numbers})" if loop.reverse else numbers
        if not targets:
            return f"for {counter.name} in {numbers}:", []
        if _numbers_all(counter, loop):
            target, source = _together(targets, sources, loop)
            target = target if len(targets) == 1 else f"({target})"
            return f"for {counter.name}, {target} in enumerate({source}):", []
        targets, sources = [counter.name, *targets], [numbers, *sources]
    if not targets:
        spare = "_" if may_forget(fresh) else fresh.name("trip")
        return f"for {spare} in range({loop.length}):", []
    target, source = _together(targets, sources, loop)
    return f"for {target} in {source}:", []


def _numbers_all(counter: Counter, loop: Loop) -> bool:
    """Whether the index numbers the elements; a slice keeps the length that it has been given."""
    plain = all(s.isidentifier() for e in loop.elements for s in e.parts or (e.source,))
    return plain and (counter.start, counter.step) == ("0", "1") and not loop.reverse


def _together(targets: list[str], sources: list[str], loop: Loop) -> tuple[str, str]:
    """The target and the iterable that take all sources in step.

    A scan has checked that they are of one length. From the end that makes a difference:
    it has to be the same end.
    """
    if len(targets) == 1:
        return targets[0], sources[0]
    strict = ", strict=True" if loop.reverse else ""
    return ", ".join(targets), f"zip({', '.join(sources)}{strict})"


def _iterable(element: Element, loop: Loop) -> str:
    if element.parts:
        return f"zip({', '.join(_direction(part, loop) for part in element.parts)})"
    return _direction(element.source, loop)


def _direction(source: str, loop: Loop) -> str:
    if not loop.reverse:
        return source
    atom = isinstance(expression(source), ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{source}[::-1]" if atom else f"({source})[::-1]"


def _indexed(loop: Loop, fresh: Fresh, spelling: Spelling) -> tuple[str, list[str]]:
    """Pytrees are sliced leaf by leaf at an index."""
    index = loop.counter.name if loop.counter is not None else fresh.name("i", "k", "index")
    head = [f"{e.target} = {_slice(e, index, spelling)}" for e in loop.elements]
    numbers = f"range({loop.counter.range if loop.counter is not None else loop.length})"
    if loop.reverse:
        numbers = f"reversed({numbers})"
    return f"for {index} in {numbers}:", head


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
            lines.append(f"{output.result} = {stack}")
    return lines, after


def _stack(output: Output, name: str, loop: Loop, spelling: Spelling) -> str:
    ys = f"{name}[::-1]" if loop.reverse else name
    if output.is_array:
        return f"{spelling.jnp}.stack({ys})"
    return spelling.stacked_leaves(ys)


def _results(carries: tuple[Carry, ...]) -> list[str]:
    return _assign([(c.result, c.target) for c in carries if c.result is not None])
