"""One file: its tree, its functions and imports, and how it calls lax."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from forscan.facts import NO_FACTS, Facts
from forscan.find.functions import Functions, local_names
from forscan.find.imports import Imports
from forscan.find.traced import Traced
from forscan.model import Spelling
from forscan.syntax.names import bindings, bound_in
from forscan.syntax.source import Source
from forscan.syntax.walk import walk_own

_HALF_PRECISION = re.compile(r"b?float16|\b(?:bf16|f16|fp16|half)\b|float[48]_")
_OTHER_INTEGERS = re.compile(r"\bu?int8\b|\bu?int16\b|\buint32\b|\bu?int64\b")
_HALF_WORDS = ("float16", "f16", "fp16", "half", "float4_", "float8_")  # quicker to look for


@dataclass
class ModuleContext:
    """One parse of one file, and what calls of it have shown.

    Attributes:
      known: for each function what has been found out about it.
    """

    source: Source
    tree: ast.Module
    functions: Functions
    imports: Imports
    traced: Traced
    facts: Facts = NO_FACTS
    known: dict[ast.AST, dict[Any, Any]] = field(default_factory=dict, init=False)

    @cached_property
    def fors_and_calls(self) -> list[ast.For | ast.Call]:
        return [*self.functions.fors, *self.functions.calls]

    @cached_property
    def top_level(self) -> frozenset[str]:
        """The names that the module's own statements bind."""
        return frozenset(bound_in(self.tree.body))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Module-level names that are bound once, with the expression they got."""
        found: dict[str, ast.expr] = {}
        again: set[str] = set()
        for node in walk_own(self.tree.body):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if node.id in found:
                    again.add(node.id)
                found[node.id] = ast.Constant(None)
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    found[target.id] = statement.value
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                if isinstance(statement.target, ast.Name):
                    found[statement.target.id] = statement.value
        changed = again.union(*(n.names for n in self.functions.outside))
        return {n: v for n, v in found.items() if n not in changed}

    def class_named(self, name: str) -> ast.ClassDef | None:
        """The class of the module that goes by a name, where nothing else does."""
        return self._classes.get(name)

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        counts = Counter(name for name, _ in bindings(self.tree.body))
        found = (n for n in self.tree.body if isinstance(n, ast.ClassDef))
        return {n.name: n for n in found if counts[n.name] == 1}

    @cached_property
    def names_half_precision(self) -> bool:
        """Whether the file names a type of fewer bits than single precision has."""
        text = self.source.text
        return any(word in text for word in _HALF_WORDS) and bool(_HALF_PRECISION.search(text))

    @cached_property
    def names_other_integers(self) -> bool:
        """Whether the file names a type of integers that is not `int32`."""
        return "int" in self.source.text and bool(_OTHER_INTEGERS.search(self.source.text))

    def spelling(self, place: ast.AST) -> Spelling:
        """How the file calls lax, jax.numpy and jax at a place."""
        hidden = local_names(self.functions, place)
        if hidden not in self._spellings:
            self._spellings[hidden] = self._spelling(hidden)
        return self._spellings[hidden]

    @cached_property
    def _spellings(self) -> dict[frozenset[str], Spelling]:
        return {}

    def _spelling(self, hidden: frozenset[str]) -> Spelling:
        known = {
            path: name
            for name, path in self.imports.table.items()
            if name not in hidden and name not in self.imports.redefined
        }
        imports: list[tuple[str, str]] = []

        def prefix(path: str, wish: str, statement: str) -> str:
            if path in known:
                return known[path]
            if path != "jax" and "jax" in known:
                return f"{known['jax']}.{path.removeprefix('jax.')}"
            name = wish
            if wish in hidden or (wish in self.top_level and wish not in self.imports.table):
                name = f"jax_{wish}"
            imports.append((name, statement.format(name)))
            return name

        return Spelling(
            lax=prefix("jax.lax", "lax", "from jax import lax as {}"),
            jnp=prefix("jax.numpy", "jnp", "import jax.numpy as {}"),
            jax=prefix("jax", "jax", "import jax as {}"),
            imports=tuple(
                (name, re.sub(r"\b(\w+) as \1\b", r"\1", text)) for name, text in imports
            ),
        )


_MARK = re.compile(r"#\s*forscan:\s*traced\b")


def parse_module(
    source: Source, named: tuple[str, ...], everything: bool, facts: Facts = NO_FACTS
) -> ModuleContext:
    """The module with its functions, imports and traced functions.

    Args:
      source: the file.
      named: patterns of functions that are traced.
      everything: whether all functions are.
      facts: what calls have shown.
    """
    module = _parsed(source, named, everything)
    return module if facts is NO_FACTS else replace(module, facts=facts)


@lru_cache(maxsize=4)
def _parsed(source: Source, named: tuple[str, ...], everything: bool) -> ModuleContext:
    """An editor asks about one text again and again, and nobody changes a module."""
    tree = source.parse()
    functions = Functions(tree)
    imports = Imports(tree, functions.imports)
    marks = _MARK.finditer(source.text) if "forscan:" in source.text else ()
    marked = frozenset(source.position(m.start())[0] for m in marks)
    traced = Traced(functions, imports, named=named, marked_lines=marked, everything=everything)
    return ModuleContext(source, tree, functions, imports, traced)
