"""The core: bytes in, bytes and outcomes out. Everything else calls this.

Loops are converted inside out: in each round the innermost loops that have no outcome
yet are decided, at most one in each top-level piece of the file, and the text is parsed
again. A body that holds a converted loop is then read as any other code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from forscan.config import Config
from forscan.find.context import parse_module
from forscan.find.indirect import indirect_uses
from forscan.find.sites import Site, find_sites
from forscan.model import Refusal, Refused
from forscan.plan import FORMS, NoCandidate, NothingToDo, Plan, make_plan
from forscan.selfcheck import fault
from forscan.syntax.source import Edit, Source, SourceError, apply_edits
from forscan.types import FileResult, Outcome, Selection, Span, Status

_SKIP_FILE = re.compile(rb"#\s*forscan:\s*skip-file\b")
_IGNORE = re.compile(r"#\s*(?:forscan:\s*ignore(?:\[([\w\s,]*)\])?|noqa:\s*(FSC[\w\s,]*))")


def convert_bytes(
    content: bytes,
    path: Path,
    config: Config,
    selection: Selection | None = None,
) -> FileResult:
    """Converts the loops of one file; never raises on what is in it.

    Args:
      content: the file.
      path: its name, for the outcomes.
      config: what to convert to, and how.
      selection: which loops; all without it.

    Returns:
      The new bytes and an outcome for each loop. With `check` in mind: the outcome of
      a loop that was converted says `converted` here.
    """
    if not may_hold_loops(content, config) or _SKIP_FILE.search(content):
        return FileResult(path, content, content)
    try:
        source = Source.decode(content)
        source.parse()
    except SourceError as e:
        broken = Refusal("FSC901", e.message, "Correct the file.", e.line, e.column)
        return FileResult(path, content, content, error=broken)
    try:
        return _Conversion(source, path, config, selection or Selection()).run(content)
    except RecursionError:
        deep = Refusal("FSC901", "the code is nested too deeply", "Split it up.", 1, 1)
        return FileResult(path, content, content, error=deep)


def may_hold_loops(content: bytes, config: Config) -> bool:
    """The text prefilter: most files hold nothing of interest."""
    if config.to == "for" or config.restyles:
        return b"scan" in content or b"fori_loop" in content or b"for " in content
    return (
        re.search(rb"\bfor\b", content) is not None
        and re.search(rb"jax|jnp|flax|equinox|haiku|forscan", content) is not None
    ) or (config.everything and b"for" in content)


@dataclass
class _Pending:
    """A loop of the file as it was, and where it is now."""

    offset: int
    outcome: Outcome


class _Conversion:
    def __init__(self, source: Source, path: Path, config: Config, selection: Selection) -> None:
        self.original = source
        self.source = source
        self.path = path
        self.config = config
        self.selection = selection
        self.pending: list[_Pending] = []
        self.done: list[Outcome] = []

    def run(self, content: bytes) -> FileResult:
        module = parse_module(self.source, self.config.traced, self.config.everything)
        for site in find_sites(module, self.forms()):
            self._open(site)
        self.done += indirect_uses(module, str(self.path), self.config, self.selection)
        while self.pending and self._round():
            pass
        text = self.source.text
        wrong = fault(self.original, text) if text != self.original.text else None
        outcomes = sorted(self.done, key=lambda o: (o.span.line, o.span.column))
        if wrong is not None:
            broken = Refusal("FSC904", wrong, "Please report the loop.")
            outcomes = [
                (
                    replace(o, status=Status.REFUSED, reasons=(broken,))
                    if o.status is Status.CONVERTED
                    else o
                )
                for o in outcomes
            ]
            text = self.original.text
        return FileResult(self.path, content, self.original.encode(text), tuple(outcomes))

    def forms(self) -> tuple[str, ...]:
        """The forms that are candidates for the target form."""
        if self.config.to == "for":
            return ("scan", "fori_loop")
        forms = ["for"]
        if self.selection.line is not None:
            forms += ["scan", "fori_loop"]
        elif self.config.restyles:
            forms.append(FORMS[self.config.to])
        same = FORMS[self.config.to]
        return tuple(f for f in forms if f != same or self.config.restyles)

    def _open(self, site: Site) -> None:
        if not self._selected(site):
            return
        outcome = self._outcome(site, Status.REFUSED)
        skipped = self._skip(site)
        if skipped is not None:
            self.done.append(replace(outcome, status=Status.SKIPPED, reasons=(skipped,)))
        elif not self._ignored(site):
            self.pending.append(_Pending(site.start, outcome))

    def _selected(self, site: Site) -> bool:
        wanted = self.selection
        if wanted.function is not None:
            name = site.context.name
            if name != wanted.function and not name.startswith(wanted.function + "."):
                return False
        if wanted.line is not None:
            return self._at_line(site) is not None and self._is_innermost(site)
        return True

    def _at_line(self, site: Site) -> int | None:
        node = site.node
        assert node.end_lineno is not None
        line = self.selection.line or 0
        return node.lineno if node.lineno <= line <= node.end_lineno else None

    def _is_innermost(self, site: Site) -> bool:
        """Whether no other loop inside this one holds the line as well."""
        module = site.context.module
        others = [s for s in find_sites(module, self.forms()) if self._at_line(s)]
        return max(others, key=lambda s: s.depth).start == site.start

    def _skip(self, site: Site) -> Refusal | None:
        if isinstance(site.node, ast.Call) or self.selection.line is not None:
            return None
        if site.context.module.traced.reason(site.node) is None:
            return Refusal(
                "FSC103",
                "the loop is not traced: nothing shows that this function runs under jit",
                "Put `# forscan: traced` above the function, or use --all.",
            )
        return None

    def _ignored(self, site: Site) -> bool:
        """`# forscan: ignore` above the loop or on its first line."""
        first = site.statement.lineno
        for number in (first - 1, first):
            match = _IGNORE.search(self.source.line(number)) if number else None
            if match:
                if number == first - 1 and not self.source.line(number).lstrip().startswith("#"):
                    continue
                codes = match.group(1) or match.group(2)
                if not codes or set(re.findall(r"FSC\d+", codes)) & {
                    "FSC101",
                    "FSC102",
                }:
                    return True
                if re.findall(r"FSC\d+", codes):
                    return True
        return False

    def _outcome(self, site: Site, status: Status) -> Outcome:
        node = site.node
        start = self.original.position(self.original.start(node))
        end = self.original.position(self.original.end(node))
        return Outcome(
            str(self.path),
            Span(*start, *end),
            site.context.name,
            status,
            site.form,
            FORMS[self.config.to],
        )

    def _round(self) -> bool:
        """Decides some loops; False when none of the pending ones is found any more."""
        module = parse_module(self.source, self.config.traced, self.config.everything)
        sites = {s.start: s for s in find_sites(module, self.forms())}
        edits: list[Edit] = []
        busy: set[int] = set()
        decided: list[_Pending] = []
        for pending, site in self._innermost(sites):
            piece = self._piece(site)
            if piece in busy:
                continue
            try:
                plan = make_plan(site, self.config)
            except Refused as refused:
                self._refuse(pending, refused)
                decided.append(pending)
                continue
            except NothingToDo:
                decided.append(pending)
                continue
            except NoCandidate:
                self._pass_over(pending)
                decided.append(pending)
                continue
            busy.add(piece)
            if _overlap(edits, plan):
                continue
            edits += plan.edits
            done = replace(
                pending.outcome,
                status=Status.CONVERTED,
                reasons=(),
                assumptions=plan.assumptions,
            )
            self.done.append(done)
            decided.append(pending)
        self.pending = [p for p in self.pending if p not in decided]
        self._apply(edits)
        return bool(decided)

    def _innermost(self, sites: dict[int, Site]) -> Iterator[tuple[_Pending, Site]]:
        """Pending loops that hold no other pending loop, those deepest first."""
        starts = {p.offset for p in self.pending}
        for pending in list(self.pending):
            site = sites.get(pending.offset)
            if site is None:
                continue
            end = site.context.source.end(site.node)
            inner = any(site.start < s < end for s in starts)
            if not inner:
                yield pending, site

    def _piece(self, site: Site) -> int:
        """The top-level statement that a loop stands in: one plan for it per round."""
        node: ast.AST = site.node
        parents = site.context.module.functions.parents
        while not isinstance(parents[node], ast.Module):
            node = parents[node]
        assert isinstance(node, ast.stmt)
        return node.lineno

    def _pass_over(self, pending: _Pending) -> None:
        reason = Refusal(
            "FSC104", "the loop computes nothing with arrays from one iteration to the next", ""
        )
        skipped = replace(pending.outcome, status=Status.SKIPPED, reasons=(reason,))
        self.done.append(skipped)

    def _refuse(self, pending: _Pending, refused: Refused) -> None:
        reasons = tuple(refused.reasons)
        self.done.append(replace(pending.outcome, status=Status.REFUSED, reasons=reasons))

    def _apply(self, edits: list[Edit]) -> None:
        if not edits:
            return
        edits = _unique(edits)
        text = apply_edits(self.source.text, edits)
        for pending in self.pending:
            shift = sum(len(e.new) - (e.end - e.start) for e in edits if e.end <= pending.offset)
            pending.offset += shift
        self.source = replace(self.original, text=text)


def _unique(edits: list[Edit]) -> list[Edit]:
    """Two plans of one round may want the same import."""
    return list(dict.fromkeys(edits))


def _overlap(edits: list[Edit], plan: Plan) -> bool:
    return any(a.start < b.end and b.start < a.end for a in edits for b in plan.edits)
