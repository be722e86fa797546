"""Where the parts of a `for` stand in the text."""

from __future__ import annotations

import ast
import re

from forscan.find.sites import Site
from forscan.syntax.code import Code, suite, suite_end
from forscan.syntax.source import Source


def region(site: Site) -> tuple[int, int]:
    """The offsets of the whole lines that the loop takes up, with its else suite."""
    assert isinstance(site.node, ast.For)
    source, node = site.context.source, site.node
    last = (node.orelse or node.body)[-1]
    first = (node.orelse or node.body)[0]
    start = source.line_start(source.start(node))
    indentation = source.indentation(source.start(first))
    if source.position(source.start(first))[0] == colon_line(source, node):
        return start, source.line_end(source.end(last))
    return start, suite_end(source, last, indentation)


def colon_line(source: Source, node: ast.For) -> int:
    """The line of the colon that ends the header."""
    position = source.end(node.iter)
    text = source.text
    while text[position] != ":":
        if text[position] == "#":
            position = source.line_end(position)
        position += 1
    return source.position(position)[0]


def header_comments(source: Source, node: ast.For, colon: int) -> list[str]:
    """The comments of the header, as lines; a type comment cannot stand alone."""
    found = []
    first = source.start(node.body[0])
    last = source.line_end(source.line_starts[colon - 1])
    if source.position(first)[0] == colon:
        last = first
    header = source.text[source.start(node) : last]
    if "#" not in header:
        return []
    for comment in Source(header + "\n    pass\n").comments():
        match = re.match(r"#\s*type:(?!\s*ignore)\s*", comment)
        if match:
            target = ast.unparse(node.target)
            comment = f"# {target}: {comment[match.end():]}"
        found.append(comment)
    return found


def else_suite(source: Source, node: ast.For) -> Code:
    """What runs behind a loop that nothing breaks off."""
    line = node.orelse[0].lineno
    start = source.start(node.orelse[0])
    if "else" in source.line(line)[: start - source.line_starts[line - 1]]:
        return suite(source, node.orelse, line)
    above = range(line - 1, source.position(source.end(node.body[-1]))[0], -1)
    head = next(n for n in above if re.match(r"[ \t\f]*else[ \t\f]*:", source.line(n)))
    return suite(source, node.orelse, head)
