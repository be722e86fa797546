"""Programs as nobody writes them: small changes to the text of one, most of which still parse.

Each change works on the text, not on a syntax tree, so that comments, white space, ends of
lines and odd spellings are part of what is tried. What no longer parses is of use as well.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Callable
from random import Random

Change = Callable[[str, Random], str]

STATEMENTS = (
    "pass",
    "assert True, 'so'",
    "del out[0]",
    "global counter",
    "nonlocal x",
    "x: int = 3",
    "x: 'jax.Array'",
    "x += 1",
    "(x) = (y) = 0.5",
    "x, *rest = 1, 2, 3",
    "[x, (y, *z)] = 1, (2, 3)",
    "x = y = z = 1; y = 2;",
    "out.append(x)",
    "out = out + [x]",
    "if (n := len(out)) > 3: x = n",
    "while (x := x - 1) > 0: break",
    "lambda x=1, /, *a, k=2, **b: (yield)",
    "print(f'{x!r:>{10}} {{}} {x=}', end='')",
    "s = f'{x}' f\"{y['a']}\" rb'' if 0 else ''",
    "s = '''\n  # no comment\n\tfor i in range(3):\n'''",
    "s = 'a' \\\n  'b'",
    "s = ('a'\n# in brackets\n  'b')  # behind",
    "return x",
    "yield x",
    "x = yield from out",
    "raise ValueError from None",
    "import jax.numpy as jnp, jax",
    "from jax.lax import scan as scan, fori_loop",
    "from jax import *",
    "async def later(): await x; [y async for y in x]",
    "class K(metaclass=type, k=1): x: int = x",
    "def scan(f, init, xs): return f(init, xs)",
    "step = lambda c, x: (c, x)",
    "x = [i for i in range(3) if i for j in (i,)]",
    "x = {**d, 'a': 1} | {k: v for k, v in d.items()}",
    "x[...] = x[..., None, ::2]",
    "x = x.at[i].set(y)",
    "x = x if i == 0 else y",
    "x = not x @ y ** -z // ~x",
    "x = 1_000j + 0xFF + 1e5 + .5",
    "__x = self.__x",
    "try: x = 1\nexcept* ValueError as e: x = 2\nelse: x = 3\nfinally: x = 4",
    "match x:\n    case [1, *_, {'a': b, **c}] if b: x = 1\n    case K(x=y) | None: pass\n    case _: pass",
    "for x in range(3): x = x + 1",
    "for x.y, out[0] in zip(a, b): pass\nelse: x = 1",
    "def f[T: int, *A, **P](x: T) -> T: return x",
    "type Alias[T] = list[T]",
    "class K[T]: pass",
    's = f"{x["a"]} {f"{f"{1}"}"} {\n  x  # inside\n}"',
    "with open(x) as f, (open(y) as g): x = 1",
    "x = jax.lax.scan(lambda c, x: (c + x, c), x, xs)[0]",
    "x = lax.fori_loop(0, n, lambda i, x: x + i, x)",
)
# `{}` stands for the statement that is put inside, moved to the right.
AROUND = (
    "if x:\n{}",
    "if x:\n    pass\nelse:\n{}",
    "for q in range(3):\n{}",
    "for q in out:\n{}\nelse:\n    x = 1",
    "while x:\n{}",
    "with x as y:\n{}",
    "try:\n{}\nfinally:\n    pass",
    "match x:\n    case 1:\n        pass\n    case _:\n{}",
    "def inner(x=x):\n{}",
    "class Inner:\n{}",
    "async def inner():\n{}",
)
DECORATORS = ("@jax.jit", "@partial(jax.jit, static_argnums=0)", "@(lambda f: f)", "@a.b[0](c)")
COMMENTS = (
    "# a comment",
    "#",
    "#!x",
    "# type: int",
    "# type: ignore",
    "# noqa: FSC101",
    "# forscan: ignore",
    "# forscan: ignore[FSC301, FSC1]",
    "# forscan: traced",
    "# fmt: off",
    "# noqa",
    "# 🙂 \f ü",
    "# \\",
)
NAMES = (
    "é",
    "变量",
    "ﬁ",
    "ªb",
    "\U0001d431",
    "_",
    "__",
    "range",
    "jnp",
    "step",
    "scan",
    "carry",
    "T",
    "match",
)
WORDS = ("(", ")", "[", "]", ":", ",", "=", "*", "**", ".", ";", "\\", "'", '"""', "#", "\n", "\t")
WORDS += (
    "for",
    "in",
    "if",
    "else",
    "lambda",
    "await",
    "yield",
    "not",
    "None",
    "0",
    "1.5",
    "->",
    "\f",
)


def distorted(text: str, random: Random, most: int = 4) -> str:
    """The text after some changes of random kinds."""
    for _ in range(random.randint(1, most)):
        text = random.choice(CHANGES)(text, random)
    return text


# Tokens.


def _tokens(text: str) -> list[tuple[int, int]]:
    """Where tokens stand, as offsets; a rough cut where Python's tokenizer gives up."""
    return [m.span() for m in re.finditer(r"\w+|[^\w\s]|\n[ \t]*", text)]


def lose_token(text: str, random: Random) -> str:
    start, end = random.choice(_tokens(text) or [(0, 0)])
    return text[:start] + text[end:]


def double_token(text: str, random: Random) -> str:
    start, end = random.choice(_tokens(text) or [(0, 0)])
    return text[:end] + text[start:end] + text[end:]


def swap_tokens(text: str, random: Random) -> str:
    """Neighbours, or any two."""
    tokens = _tokens(text)
    if len(tokens) < 2:
        return text
    place = random.randrange(len(tokens) - 1)
    other = place + 1 if random.random() < 0.5 else random.randrange(len(tokens))
    (a, b), (c, d) = sorted([tokens[place], tokens[other]])
    return text if c < b else text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def other_token(text: str, random: Random) -> str:
    start, end = random.choice(_tokens(text) or [(0, 0)])
    return text[:start] + random.choice(WORDS) + text[end:]


def respace(text: str, random: Random) -> str:
    """White space between tokens, line continuations among it."""
    start, _ = random.choice(_tokens(text) or [(0, 0)])
    return text[:start] + random.choice(("  ", "\t", " \\\n  ", "\f", "", " ")) + text[start:]


def put_in_brackets(text: str, random: Random) -> str:
    """An expression, over several lines perhaps, with a comment in it."""
    span = _expression(text, random)
    if span is None:
        return text
    start, end = span
    middle = text[start:end]
    form = random.choice(("({})", "(\n    {}\n)", "(  # within\n{}\n  # below\n)", "((({})))"))
    return text[:start] + form.format(middle) + text[end:]


def name_expression(text: str, random: Random) -> str:
    span = _expression(text, random)
    if span is None:
        return text
    start, end = span
    name = random.choice(("x", "w", *NAMES[:3]))
    return f"{text[:start]}({name} := {text[start:end]}){text[end:]}"


def other_expression(text: str, random: Random) -> str:
    """Another one of the text in its place."""
    first, second = _expression(text, random), _expression(text, random)
    if first is None or second is None:
        return text
    return text[: first[0]] + text[second[0] : second[1]] + text[first[1] :]


def rename(text: str, random: Random) -> str:
    """A name everywhere; another one may have the new name already."""
    names = re.findall(r"\b[A-Za-z_]\w*", text)
    if not names:
        return text
    new = random.choice((*NAMES, random.choice(names)))
    return re.sub(rf"\b{random.choice(names)}\b", new, text)


# Statements.


def _tree(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _expression(text: str, random: Random) -> tuple[int, int] | None:
    tree = _tree(text)
    nodes = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.expr)]
    if not nodes:
        return None
    node = random.choice(nodes)
    lines = text.split("\n")
    if node.end_lineno is None or node.end_lineno > len(lines):
        return None
    return _offset(lines, node.lineno, node.col_offset), _offset(
        lines, node.end_lineno, node.end_col_offset or 0
    )


def _offset(lines: list[str], line: int, column: int) -> int:
    head = lines[line - 1].encode()[:column].decode(errors="ignore")
    return sum(len(each) + 1 for each in lines[: line - 1]) + len(head)


def _blocks(text: str) -> list[tuple[int, int]]:
    """The lines of each statement, from 0, its end exclusive; those in loops twice."""
    tree = _tree(text)
    nodes = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    found = [(n.lineno - 1, n.end_lineno or n.lineno) for n in nodes]
    loops = [(n.lineno - 1, n.end_lineno or 0) for n in nodes if isinstance(n, ast.For)]
    return found + [(a, b) for a, b in found if any(c <= a and b <= d for c, d in loops)]


def _with_block(text: str, random: Random, change: Callable[[list[str]], list[str]]) -> str:
    blocks = _blocks(text)
    if not blocks:
        return text
    lines = text.split("\n")
    start, end = random.choice(blocks)
    if end > len(lines):  # lines that end with "\r" alone
        return text
    return "\n".join([*lines[:start], *change(lines[start:end]), *lines[end:]])


def lose_statement(text: str, random: Random) -> str:
    return _with_block(text, random, lambda lines: [])


def double_statement(text: str, random: Random) -> str:
    return _with_block(text, random, lambda lines: lines + lines)


def swap_statements(text: str, random: Random) -> str:
    blocks = _blocks(text)
    if len(blocks) < 2:
        return text
    (a, b), (c, d) = sorted(random.sample(blocks, 2))
    lines = text.split("\n")
    if c < b:
        return text
    return "\n".join([*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]])


def add_statement(text: str, random: Random) -> str:
    new = random.choice(STATEMENTS).split("\n")

    def change(lines: list[str]) -> list[str]:
        added = _indented(new, _indentation(lines[0]))
        return lines + added if random.random() < 0.5 else added + lines

    return _with_block(text, random, change)


def put_around(text: str, random: Random) -> str:
    head, tail = random.choice(AROUND).split("{}")
    deep = head.rstrip("\n").rpartition("\n")[2]
    unit = " " * (4 + len(deep) - len(deep.lstrip()))

    def change(lines: list[str]) -> list[str]:
        outer = _indentation(lines[0])
        above = _indented(head.rstrip("\n").split("\n"), outer)
        below = _indented(tail.strip("\n").split("\n"), outer) if tail.strip() else []
        return [*above, *(unit + line for line in lines), *below]

    return _with_block(text, random, change)


def on_one_line(text: str, random: Random) -> str:
    """A suite behind its colon, or two statements with a semicolon."""
    found = [m.span() for m in re.finditer(r"(?<=[:\w)\]])\n[ ]*(?=\w)", text)]
    if not found:
        return text
    start, end = random.choice(found)
    return text[:start] + ("" if text[start - 1] == ":" else "; ") + text[end:]


def decorate(text: str, random: Random) -> str:
    found = [m.start() for m in re.finditer(r"^[ \t]*(?:async )?(?:def|class) ", text, re.M)]
    if not found:
        return text
    place = random.choice(found)
    spaces = _indentation(text[place:])
    return f"{text[:place]}{spaces}{random.choice(DECORATORS)}\n{text[place:]}"


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def _indented(lines: list[str], by: str) -> list[str]:
    return [by + line for line in lines]


# Lines.


def indent_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    place = random.randrange(len(lines))
    line = lines[place]
    lines[place] = random.choice((f" {line}", f"    {line}", line[1:], line.lstrip(), f"\t{line}"))
    return "\n".join(lines)


def other_unit(text: str, random: Random) -> str:
    unit = random.choice(("\t", " ", "  ", "        ", " \t"))
    return re.sub(r"^(?: {4})+", lambda m: unit * (len(m[0]) // 4), text, flags=re.M)


def comment(text: str, random: Random) -> str:
    """Behind a line, or on a line of its own at any depth."""
    lines = text.split("\n")
    place, new = random.randrange(len(lines)), random.choice(COMMENTS)
    if random.random() < 0.5:
        lines[place] += f"  {new}"
    else:
        lines.insert(place, " " * random.choice((0, 2, 4, 8, 12)) + new)
    return "\n".join(lines)


def blank(text: str, random: Random) -> str:
    lines = text.split("\n")
    lines.insert(random.randrange(len(lines)), random.choice(("", "    ", "\f", "\t", "  \f  ")))
    return "\n".join(lines)


def ends(text: str, random: Random) -> str:
    """Other ends of lines, everywhere, at some lines, or none at the end of the text."""
    end = random.choice(("\r\n", "\r"))
    kind = random.randrange(3)
    if kind == 0:
        return text.rstrip("\n")
    text = text.replace("\r\n", "\n")
    if kind == 1:
        return text.replace("\n", end)
    return re.sub("\n", lambda m: random.choice((m[0], end)), text)


CHANGES: tuple[Change, ...] = (
    lose_token,
    double_token,
    swap_tokens,
    other_token,
    respace,
    put_in_brackets,
    put_in_brackets,
    name_expression,
    other_expression,
    other_expression,
    rename,
    rename,
    lose_statement,
    double_statement,
    swap_statements,
    swap_statements,
    add_statement,
    add_statement,
    add_statement,
    put_around,
    put_around,
    on_one_line,
    on_one_line,
    decorate,
    indent_line,
    other_unit,
    comment,
    comment,
    comment,
    blank,
    ends,
)


def encoded(text: str, random: Random) -> bytes:
    """As bytes of a file, seldom with a BOM or in another encoding."""
    kind = random.random()
    if kind < 0.05:
        return b"\xef\xbb\xbf" + text.encode(errors="replace")
    if kind < 0.1:
        return b"# coding: latin-1\n" + text.encode("latin-1", errors="replace")
    if kind < 0.12:
        content = bytearray(text.encode(errors="replace"))
        for _ in range(random.randint(1, 4)):
            content[random.randrange(len(content) or 1) : 0] = bytes([random.randrange(256)])
        return bytes(content)
    return text.encode(errors="replace")


def comments(text: str) -> list[str]:
    """The comments of a text, read with Python's tokenizer, which may fail where Python does not."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(plain).readline))
    except (tokenize.TokenError, SyntaxError):
        return re.findall(r"#.*", plain)
    return [t.string for t in tokens if t.type == tokenize.COMMENT]
