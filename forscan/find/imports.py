"""What the names of a module stand for: `lax.scan` is `jax.lax.scan` under any alias."""

from __future__ import annotations

import ast
from functools import cached_property, lru_cache

from forscan.syntax.names import dotted, own_statements

# Public names that stand for the same thing under another path.
SAME = {
    "jax.numpy": "jax.numpy",
    "jax.numpy.lax": "jax.lax",
    "jax.ad_checkpoint.checkpoint": "jax.checkpoint",
    "jax.remat": "jax.checkpoint",
    "jax.experimental.shard_map.shard_map": "jax.shard_map",
    "jax.experimental.pjit.pjit": "jax.jit",
    "jax.lax.control_flow.scan": "jax.lax.scan",
}


class Imports:
    """Resolves dotted names of one module through its imports and plain aliases.

    A name that the module binds in any other way as well (a parameter, a local, a
    definition) is not resolved where that binding is visible: see `Imports.resolve`.

    Args:
      module: the tree.
      statements: the imports in it, wherever they stand.
    """

    def __init__(self, module: ast.Module, statements: list[ast.Import | ast.ImportFrom]) -> None:
        self.module = module
        self.statements = statements
        self._resolved: dict[ast.expr, str | None] = {}

    @cached_property
    def table(self) -> dict[str, str]:  # noqa: C901
        """Imported or aliased name -> full dotted name."""
        table: dict[str, str] = {}
        for statement in self.statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    name = alias.asname or alias.name.split(".")[0]
                    table[name] = alias.name if alias.asname else name
            elif statement.module and not statement.level:
                for alias in statement.names:
                    table[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
        for node in self.module.body:  # scan = jax.lax.scan
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, path = node.targets[0], dotted(node.value)
                if isinstance(target, ast.Name) and path:
                    root, _, rest = path.partition(".")
                    if root in table and target.id not in table:
                        table[target.id] = f"{table[root]}.{rest}" if rest else table[root]
        for name in self.redefined:
            table.pop(name, None)
        return table

    @cached_property
    def redefined(self) -> set[str]:
        """Module-level names that are bound by something else than an import."""
        defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return {s.name for s in own_statements(self.module.body) if isinstance(s, defined)}

    def resolve(self, node: ast.expr, local: set[str] | frozenset[str] = frozenset()) -> str | None:
        """The full dotted name of an expression, None where it has none.

        Args:
          node: a name or a chain of attributes.
          local: names that mean something else here (parameters, locals).
        """
        if not local:
            if node not in self._resolved:
                self._resolved[node] = self._resolve(node)
            return self._resolved[node]
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        hidden = isinstance(root, ast.Name) and root.id in local
        return None if hidden else self.resolve(node)

    def _resolve(self, node: ast.expr) -> str | None:
        path = dotted(node)
        if path is None:
            return None
        root, _, rest = path.partition(".")
        base = self.table.get(root)
        if base is None:
            return path if root not in self.redefined else None
        return canonical(f"{base}.{rest}" if rest else base)

    def imported(self, name: str) -> bool:
        return name in self.table


@lru_cache(maxsize=10_000)
def canonical(path: str) -> str:
    """One path for each public object of jax."""
    for old, new in SAME.items():
        if path == old or path.startswith(old + "."):
            return new + path[len(old) :]
    return path
