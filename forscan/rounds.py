"""The loops of one file, decided inside out.

In each round the innermost loops that have no outcome yet are decided, at most one in each
top-level piece of the file, and the text is parsed again. A body that holds a converted loop is
then read as any other code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from forscan.analyse.size import size_of
from forscan.chosen import LOOPS, Place, choose
from forscan.config import Config
from forscan.facts import Facts
from forscan.find.module import ModuleContext, parse_module
from forscan.find.sites import Site, find_sites
from forscan.model import Refusal, Refused
from forscan.moved import found_again, place_before, place_behind, taken_along
from forscan.plan import FORMS, NoCandidate, NothingToDo, Plan, make_plan
from forscan.selfcheck import fault
from forscan.suppress import Suppressed, Suppressions
from forscan.syntax.source import Edit, Source, apply_edits, compiled
from forscan.types import FileResult, Outcome, Selection, Span, Status

EVERYTHING = Selection()
_PYTHON_WORK = Refusal(
    "FSC104",
    "the loop computes nothing with arrays from one iteration to the next",
    "Nothing to do.",
)
_NOT_TRACED = Refusal(
    "FSC103",
    "the loop is not traced: nothing shows that this function runs under jit",
    "Put `# forscan: traced` above the function, or use --all.",
)


@dataclass(frozen=True)
class Unchecked:
    """A result that is not to be used yet.

    Attributes:
      result: of the conversion.
      before, after: the text as it was, and as it is in the result, where it has changed.
      interactive: whether it is made of the cells of a notebook.
    """

    result: FileResult
    before: Source | None = None
    after: str = ""
    interactive: bool = False

    def checked(self) -> FileResult:
        """The result, taken back where its text does not pass the self-check."""
        wrong = self._fault(self.before) if self.before is not None else None
        if wrong is not None:
            return self.result.taken_back(Refusal("FSC904", wrong, "Please report the loop."))
        return self.result

    def _fault(self, before: Source) -> str | None:
        outcomes = self.result.outcomes
        converted = (o.span.line for o in outcomes if o.status is Status.CONVERTED)
        tree = compiled(before, self.interactive)
        return fault(before, tree, self.after, converted, interactive=self.interactive)


def internal(what: str) -> Refusal:
    return Refusal("FSC905", f"a fault of forscan: {what}", "Please report the loop.")


def named_fault(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@dataclass
class _Pending:
    """A loop of the file as it was, and where it is now.

    Attributes:
      offset: where it starts.
      outcome: what is known about it.
      suppressed: what comments at the loop say.
      waits: why it stays, unless a loop around it becomes a `for` first.
    """

    offset: int
    outcome: Outcome
    suppressed: Suppressed
    waits: tuple[Refusal, ...] = ()


class Conversion:
    def __init__(self, source: Source, path: Path, config: Config, facts: Facts) -> None:
        self.original = source
        self.source = source
        self.path = path
        self.config = config
        self.facts = facts
        self.parsed: ModuleContext | None = None
        self.sites: dict[int, Site] | None = None
        self.pending: list[_Pending] = []
        self.done: list[Outcome] = []
        self.rounds: list[tuple[list[Edit], str]] = []
        self.suppressions = Suppressions(source)
        self.interactive = path.suffix == ".ipynb"

    def run(self, content: bytes, selections: tuple[Selection, ...]) -> Unchecked:
        missing = self._open(selections)
        while self.pending and self._round():
            pass
        for pending in self.pending:
            self._refuse(pending, *(pending.waits or (internal("the loop was not found again"),)))
        if self.rounds and any(s.function is None and s.line is None for s in selections):
            self._look_again(content)
        text = self.source.text
        result = FileResult(
            self.path,
            content,
            self.original.encode(text),
            tuple(sorted(self.done, key=lambda o: (o.span.line, o.span.column))),
            missing=missing,
            unused=self._unused(selections),
        )
        if text == self.original.text:
            return Unchecked(result)
        compiled(self.original, self.interactive)  # Python may not take what it can parse
        return Unchecked(result, self.original, text, self.interactive)

    def _open(self, selections: tuple[Selection, ...]) -> tuple[str, ...]:
        """Notes the loops that are meant; what of the selections is not there."""
        module = self._module()
        chosen = choose(module, self.config, selections, str(self.path))
        self.sites = {s.start: s for s in (*chosen.sites, *chosen.left)}
        for site in chosen.left:
            self._suppressed(site).leave()
        for site in chosen.sites:
            suppressed = self._suppressed(site)
            named = site.node in chosen.named
            pending = _Pending(site.start, self._outcome(site, named), suppressed)
            if named or isinstance(site.node, ast.Call) or module.traced.reason(site.node):
                pending.outcome = self._sized(site, pending.outcome)
                self.pending.append(pending)
            else:
                suppressed.leave()
                self._skip(pending, _NOT_TRACED)
        for use in chosen.indirect:
            outcome = self._outcome(use, use.node in chosen.named)
            suppressed = self.suppressions.at(use.node.lineno)
            self._refuse(_Pending(0, outcome, suppressed), use.reason)
        return tuple(chosen.missing)

    def _look_again(self, content: bytes) -> None:
        """Converts what other conversions have made convertible, as a second run would.

        These are loops beside a converted one, and copies of loops that stood in it. Only the
        statements of the module that have changed are looked at.
        """
        again = Conversion(self.source, self.path, self.config, self.facts)
        again.run(content, (Selection(touched=_changed_lines(self.original, self.source)),))
        converted = {
            self._placed_at(self.source.at(o.span.line, o.span.column)): o.assumptions
            for o in again.done
            if o.status is Status.CONVERTED
        }
        for number, o in enumerate(self.done):
            assumptions = converted.get((o.span.line, o.span.column))
            if assumptions is not None and o.status is not Status.CONVERTED:
                done = replace(o, status=Status.CONVERTED, reasons=(), assumptions=assumptions)
                self.done[number] = done
        self.source = again.source

    def _suppressed(self, site: Site) -> Suppressed:
        return self.suppressions.at(site.statement.lineno, site.node.lineno)

    def _unused(self, selections: tuple[Selection, ...]) -> tuple[Refusal, ...]:
        """The comments that suppress nothing, where all of the file was looked at."""
        if EVERYTHING not in selections or self.config.ignores(self.path, "FSC903"):
            return ()
        return tuple(self.suppressions.unused())

    def _ignored(self, pending: _Pending, code: str) -> Refusal | None:
        """Why a code is not reported at a loop; None where it is."""
        if pending.suppressed.covers(code):
            return Refusal(code, "a comment at the loop says to ignore it", "Nothing to do.")
        if self.config.ignores(self.path, code):
            return Refusal(code, "the configuration says to ignore it here", "Nothing to do.")
        return None

    def _module(self) -> ModuleContext:
        """The module as it is now, parsed once for each text."""
        if self.parsed is None:
            self.parsed = parse_module(
                self.source, self.config.traced, self.config.everything, self.facts
            )
        return self.parsed

    def _outcome(self, site: Place, named: bool) -> Outcome:
        node = site.node
        start = self.original.position(self.original.start(node))
        end = self.original.position(self.original.end(node))
        return Outcome(
            str(self.path),
            Span(*start, *end),
            site.context.name,
            Status.REFUSED,
            site.form,
            FORMS[self.config.to],
            named=named,
        )

    def _sized(self, site: Site, outcome: Outcome) -> Outcome:
        """The outcome with what the loop comes to when it is unrolled, inner loops and all."""
        if not isinstance(site.node, ast.For):
            return outcome
        size = size_of(site.node, site.context)
        small = size.is_below(self.config.min_trips, self.config.min_ops)
        return replace(outcome, size=size, small=small and not outcome.named)

    def _round(self) -> bool:
        """Decides some loops; False when none of the pending ones is found any more."""
        if self.sites is None:
            self.sites = {s.start: s for s in find_sites(self._module(), LOOPS)}
        edits: list[Edit] = []
        moved: list[tuple[Edit, list[int]]] = []
        busy: set[int] = set()
        decided: list[_Pending] = []
        waiting = False
        for pending, site in self._innermost(self.sites):
            piece = self._piece(site)
            if piece in busy:
                continue
            plan = self._decide(pending, site)
            if plan is not None:
                busy.add(piece)
                if _overlap(edits, plan):
                    continue
                edits += plan.edits
                moved.append((plan.edits[0], taken_along(site, plan, self.sites.values())))
                self._convert(pending, plan)
            if pending.waits:
                waiting = True
            else:
                decided.append(pending)
        self.pending = [p for p in self.pending if p not in decided]
        self._apply(edits, moved)
        return bool(decided) or waiting

    def _decide(self, pending: _Pending, site: Site) -> Plan | None:
        """The plan for a loop; None where it stays, which is noted."""
        try:
            plan = make_plan(site, self.config)
        except Refused as refused:
            if self._may_wait(refused):
                pending.waits = tuple(refused.reasons)
            else:
                self._refuse(pending, *refused.reasons)
        except NothingToDo:
            pass
        except NoCandidate:
            self._skip(pending, _PYTHON_WORK)
        except RecursionError:  # the file's
            raise
        except Exception as e:  # ours: the other loops are done all the same
            self._refuse(pending, internal(named_fault(e)))
        else:
            if self._wanted(pending):
                return plan
        return None

    def _innermost(self, sites: dict[int, Site]) -> Iterator[tuple[_Pending, Site]]:
        """Pending loops that hold no other pending loop, those deepest first."""
        active = [p for p in self.pending if not p.waits]
        starts = {p.offset for p in active}
        for pending in active:
            site = sites.get(pending.offset)
            if site is None or site.form != pending.outcome.source:
                continue
            end = site.context.source.end(site.node)
            inner = any(site.start < s < end for s in starts)
            if not inner:
                yield pending, site

    def _may_wait(self, refused: Refused) -> bool:
        """Whether a loop around it that becomes a `for` may remove the reasons.

        The trip count may be a number then, and the call a statement on a line of its own.
        """
        others = sum(not p.waits for p in self.pending) > 1
        codes = {r.code for r in refused.reasons}
        return self.config.to == "for" and others and codes <= {"FSC203", "FSC305"}

    def _piece(self, site: Site) -> int:
        """The top-level statement that a loop stands in: one plan for it per round."""
        statement = site.context.module.functions.top_level(site.node)
        assert isinstance(statement, ast.stmt)
        return statement.lineno

    def _wanted(self, pending: _Pending) -> bool:
        """Whether a loop that can be converted is to be; that it is not is noted."""
        code = replace(pending.outcome, status=Status.CONVERTED).code
        ignored = self._ignored(pending, code)
        if ignored is not None:
            self._skip(pending, ignored)
        return ignored is None

    def _convert(self, pending: _Pending, plan: Plan) -> None:
        done = replace(pending.outcome, status=Status.CONVERTED, assumptions=plan.assumptions)
        self.done.append(done)

    def _refuse(self, pending: _Pending, *reasons: Refusal) -> None:
        ignored = [self._ignored(pending, r.code) for r in reasons]
        left = tuple(r for r, why in zip(reasons, ignored, strict=True) if why is None)
        if left:
            left = tuple(map(self._placed, left))
            self.done.append(replace(pending.outcome, status=Status.REFUSED, reasons=left))
        elif ignored[0] is not None:
            self._skip(pending, ignored[0])

    def _placed(self, reason: Refusal) -> Refusal:
        """A reason with its place in the file as it was, the column in characters."""
        if reason.line is None or reason.column is None:
            return reason
        line, column = self._placed_at(self.source.offset(reason.line, reason.column - 1))
        return replace(reason, line=line, column=column)

    def _placed_at(self, offset: int) -> tuple[int, int]:
        """The line and the column in the file as it was of a place in the text as it is."""
        for edits, before in reversed(self.rounds):
            offset = place_before(offset, edits, before)
        return self.original.position(offset)

    def _skip(self, pending: _Pending, reason: Refusal) -> None:
        self.done.append(replace(pending.outcome, status=Status.SKIPPED, reasons=(reason,)))

    def _apply(self, edits: list[Edit], moved: list[tuple[Edit, list[int]]]) -> None:
        if not edits:
            return
        edits = _unique(edits)
        before = self.source.text
        self.rounds.append((edits, before))

        def after(offset: int) -> int:
            return place_behind(offset, edits, before)

        text = apply_edits(before, edits)
        self.source = replace(self.original, text=text)
        self.parsed = self.sites = None
        found: dict[int, int] = {}
        for edit, taken in moved:
            if taken:
                start = after(edit.start)
                sites = find_sites(self._module(), LOOPS)
                found |= found_again(taken, start, start + len(edit.new), sites)
        for pending in self.pending:
            pending.offset = found.get(pending.offset, after(pending.offset))
            pending.waits = ()


def _changed_lines(before: Source, after: Source) -> frozenset[int]:
    """The lines of the module's statements that are not as they were."""
    known = {before.segment(statement) for statement in before.parse().body}
    changed = (s for s in after.parse().body if after.segment(s) not in known)
    return frozenset(n for s in changed for n in range(s.lineno, (s.end_lineno or s.lineno) + 1))


def _unique(edits: list[Edit]) -> list[Edit]:
    """Two plans of one round may want the same import."""
    return list(dict.fromkeys(edits))


def _overlap(edits: list[Edit], plan: Plan) -> bool:
    return any(a.start < b.end and b.start < a.end for a in edits for b in plan.edits)
