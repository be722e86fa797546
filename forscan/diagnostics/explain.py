"""The text of one code for people."""

from __future__ import annotations

import textwrap

from forscan.diagnostics.codes import REGISTRY, Entry


def explain(code: str) -> str | None:
    """The explanation of a code, or of a name; None if there is no such."""
    entry = REGISTRY.get(code.upper())
    if entry is None:
        entry = next((e for e in REGISTRY.values() if e.name == code.lower()), None)
    return _text(entry) if entry else None


def _text(entry: Entry) -> str:
    parts = [f"{entry.code} {entry.name}: {entry.summary}"]
    if entry.explanation:
        parts.append(textwrap.fill(entry.explanation, 88))
    if entry.example:
        parts.append("For example:\n\n" + textwrap.indent(entry.example, "    "))
    parts.append(textwrap.fill(f"What to do: {entry.help}", 88))
    return "\n\n".join(parts)


def markdown() -> str:
    """All codes as a page of the documentation."""
    parts = [
        "# Codes",
        "What forscan says about a loop, by code. `forscan explain CODE` says the same.",
    ]
    for entry in REGISTRY.values():
        parts.append(f"## {entry.code}: {entry.name}")
        parts.append(f"{entry.summary[:1].upper()}{entry.summary[1:]}.")
        if entry.explanation:
            parts.append(entry.explanation)
        if entry.example:
            parts.append(f"```python\n{entry.example}\n```")
        parts.append(f"What to do: {entry.help}")
    return "\n\n".join(parts) + "\n"
