"""Judges one call: by proof, else types, outputs, perturbed inputs, gradients; then costs."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .call import Call, is_float, perturbed
from .compare import Difference, Yardstick, compare, retyped
from .cuts import TooLong, Versions
from .environment import environment
from .errors import line, needs_values
from .estimate import too_long
from .explain import explained
from .failures import verdict as verdict_on_errors
from .fit import Estimate
from .gradient import NoGradient, compared, traced_pullback
from .marks import Marks
from .program import Program, Result, same_program, work
from .prove import OPERATIONS, Proof, same_outputs, same_shell
from .short import Short, by_copies, shortened
from .timing import costs
from .transforms import TRANSFORMS, under
from .trips import FewTrips, few_trips
from .uncalled import uncalled
from .written import Written

_PERTURBATIONS = ((0, 0.1), (1, 0.5))
# Seconds: compiling longer than this is not done twice: what else needs the original (its
# gradient, its double precision) is computed operation by operation.
_SLOW = 1.5
_PATIENCE = 0.05  # of the time that is left, for tracing one version
_MANY = 5000  # operations: differentiating them takes about 5 ms for each
_STEPWISE = 50_000  # operations: running one takes about 50 µs
_QUICK = 1.0  # seconds of tracing within which a call is traced with other numbers too
_NOT_RUN = {
    "status": "unknown",
    "evidence": None,
    "reason": "the traces are the same, but the call as it is written was not run",
}
_EAGER = "what is too long to compile was run operation by operation"


class Judge:
    """The judge of one call.

    Args:
      before, after: the two versions of the module.
      text: the call.
      deadline: when there should be a verdict, by `time.monotonic`.
      stage: is told what goes on, so that a time limit can say what took so long.
      early: is given an answer that holds already and may get better.
      marks: on the loops that were converted, where they are known.
      versions: whose loops can be cut, where the modules were loaded so.
      cut: whether their loops are cut while this is judged.
    """

    def __init__(
        self,
        before: types.ModuleType,
        after: types.ModuleType,
        text: str,
        deadline: float,
        stage: Callable[[str], None],
        early: Callable[[dict[str, Any]], None],
        marks: Marks | None = None,
        versions: Versions | None = None,
        *,
        cut: bool = False,
    ) -> None:
        stage("evaluating the arguments")
        self.calls = Call.parse(text, before), Call.parse(text, after)
        self.old, self.new = map(Program, self.calls)
        self.written = Written((self.old, self.new))
        self.modules = before, after
        self.text = text
        self.versions = versions or Versions()
        self.cut = cut
        self.given = self.old.data
        self.notes: list[str] = []
        self.deadline = deadline
        self.stage = stage
        self.early = early
        self.marks = marks or Marks([])
        self.marks.clear()

    @property
    def slow(self) -> bool:
        """Whether the original takes long to compile."""
        return self.old.estimate is not None or self.old.stages.first > _SLOW

    @property
    def puzzling(self) -> bool:
        """Whether it would take long to explain a difference, or it may be none."""
        return bool(self.versions.counted) if self.cut else self.slow

    @property
    def long(self) -> bool:
        """Whether there is no time to run, and to differentiate, each operation for itself."""
        return not self.cut and max(p.equations for p in (self.old, self.new)) > _MANY

    def verdict(self) -> dict[str, Any]:
        answer = self.judged()
        if "reached" in answer:  # the call does not run what was converted
            return answer
        answer["reached"] = self.marks.reached
        if answer["status"] != "different" and self.marks.missing:
            return _unreached(self.marks, answer.get("reason", ""), answer.get("raises", ""))
        if answer["status"] == "different" and not self.puzzling:
            where = self.calls, self.given, self.versions
            answer |= explained(*where, self.deadline, self.stage, cut=self.cut)
        return answer

    def judged(self) -> dict[str, Any]:
        failure = self.trace()
        if failure is not None:
            return failure
        if not (self.old.traced and self.new.traced):
            return self.by_copies(self.shortened(), None)
        if self.marks.missing:
            return _unreached(self.marks)
        unseen = self.uncalled(self.old.shell, self.new.shell)
        if unseen:
            return {"status": "unknown", "reason": unseen}
        proof = self.prove()
        answer: dict[str, Any] = {"types": self.written.types}
        few = self.few_trips()
        if few.reason and not few.loud:
            return answer | {
                "status": "different",
                "evidence": "measured",
                "reason": few.reason,
            }
        self.notes.append(few.reason)
        if proof:
            answer |= {"status": "equal", "evidence": "proved"}
            answer |= {} if self.long else self.proved_gradient()
            # An answer already, should compiling take longer than there is time.
            self.early(answer if self.written.jitted else answer | _NOT_RUN)
        if self.long:
            short = self.shortened()
            if short.instead(self.deadline):
                return self.by_copies(short, self.of_the_whole(answer, short, proof))
        self.compile()
        return self.as_written(proof) or self.measure(answer, proof)

    def measure(self, answer: dict[str, Any], proof: Proof) -> dict[str, Any]:
        """Completes the answer with what compiling and running shows."""
        left_out = any(p.estimate is not None for p in (self.old, self.new))
        if proof and left_out:
            found, notes = Difference(), []
        elif proof:
            self.stage("running both versions")
            found = compare(self.old.run(self.old.data), self.new.run(self.new.data), lambda: None)
            same = same_program(self.old, self.new)
            notes = ["both compile to the same program"] if same else []
            if found.reason:
                notes.append(f"compiled they round differently: {found.reason}")
        else:
            found = self.outputs()
            same = not left_out and same_program(self.old, self.new)
            answer |= {
                "status": "different" if found.reason else "equal",
                "evidence": "proved" if same else "measured",
            }
            notes = [found.reason or (_EAGER if left_out else "")]
            if same:
                notes.append("both compile to the same program")
        answer["max_ulp"] = None if proof and left_out else found.max_ulp
        answer["reason"] = found.reason
        if answer["status"] == "different":
            return answer
        if "gradient" not in answer:
            answer["gradient"], reason = self.gradient()
            if answer["gradient"] in ("equal", "different"):
                answer["gradient_evidence"] = "measured"
            notes.append(reason)
        answer["reason"] = _notes(*notes, retyped(self.old.shell, self.new.shell), *self.notes)
        if answer["gradient"] == "different":
            answer["status"] = "different"
            return answer
        answer |= self.transformed()
        if answer["status"] == "different" or self.cut:
            return answer
        self.stage("measuring run times")
        answer["environment"] = environment()
        answer["before"], answer["after"] = costs(self.old, self.new)
        return answer

    def transformed(self) -> dict[str, Any]:
        """The verdicts on both versions under each transform."""
        verdicts: dict[str, Any] = {}
        slow = self.slow or self.new.estimate is not None
        for name, transform in TRANSFORMS.items():
            self.stage(f"comparing under {name}")
            late = time.monotonic() + 5 * self.old.stages.first > self.deadline
            found = ("unknown", "") if late else under(transform, self.old, self.new, slow=slow)
            verdicts[name], reason = found
            if reason:
                return verdicts | {"status": "different", "reason": f"under {name} {reason}"}
        return verdicts

    def uncalled(self, old: Result, new: Result) -> str:
        """Why a call says nothing of a function that it gives back; empty where none is new."""
        name = "" if same_shell(old, new) else uncalled(old, new)
        return name and f"it gives back the function {name}, which is not called in it"

    def shortened(self) -> Short:
        """How the loops of both versions can be cut."""
        self.stage("cutting the loops short")
        return shortened(self.calls, (self.old, self.new), self.versions, self.deadline)

    def of_the_whole(
        self, answer: dict[str, Any], short: Short, proof: Proof
    ) -> dict[str, Any] | None:
        """The verdict on the outputs that needs no copies, None where there is none."""
        if not self.written.jitted or proof:
            return answer if self.written.jitted else None
        if max(p.equations for p in (self.old, self.new)) > _STEPWISE:
            return None
        for program, cost in zip((self.old, self.new), short.costs, strict=True):
            if cost.get("compile_fit"):
                program.estimate = Estimate(cost["compile_s"], cost["compile_fit"])
        found = self.outputs()
        status = "different" if found.reason else "equal"
        answer |= {"status": status, "evidence": "measured", "max_ulp": found.max_ulp}
        return answer | {"reason": found.reason or _EAGER}

    def by_copies(self, short: Short, known: dict[str, Any] | None) -> dict[str, Any]:
        """The verdict by copies whose loops are cut short.

        Args:
          known: the verdict on the outputs of the whole, None where there is none.
        """
        if not short.trips:
            return {"status": "unknown", "reason": short.reason}
        with self.versions.to(short.trips):
            judge = Judge(
                *self.modules,
                self.text,
                self.deadline,
                self.stage,
                lambda answer: None,
                self.marks,
                self.versions,
                cut=True,
            )
            answer = judge.verdict()
        return by_copies(answer, short, self.versions.counted, known)

    def prove(self) -> Proof:
        """Whether the traces alone show that both versions are the same."""
        self.stage("comparing the traces")
        # Written out or gone round for round, both have as many as the longer one at least.
        if 2 * max(p.equations for p in (self.old, self.new)) > OPERATIONS:
            return Proof("there are too many operations")
        try:
            reason = same_shell(self.old.shell, self.new.shell)
            proof = Proof(reason) if reason else same_outputs(self.old.jaxpr, self.new.jaxpr)
            return proof and self.written.proof()
        except Exception as e:  # of what is not known there: measuring will tell
            return Proof(f"the traces cannot be compared: {line(e)}")

    def few_trips(self) -> FewTrips:
        """What differs where an integer of the call is smaller, if tracing is quick."""
        if sum(p.stages.trace_s[0] for p in (self.old, self.new)) > _QUICK:
            return FewTrips()
        self.stage("comparing a few iterations")
        try:
            return few_trips(*self.calls)
        except Exception:  # of calls that nobody has asked for
            return FewTrips()

    def proved_gradient(self) -> dict[str, str]:
        """The verdict on gradients where the traces show it, nothing where they do not."""
        self.stage("comparing the gradients' traces")
        try:
            traced = [traced_pullback(p, p.data) for p in (self.old, self.new)]
            proof = same_outputs(*traced, any_order=True)
        except NoGradient:
            return {"gradient": "none"}
        except Exception:  # measuring will tell whose fault it is
            return {}
        return {"gradient": "equal", "gradient_evidence": "proved"} if proof else {}

    def trace(self) -> dict[str, Any] | None:
        """Traces both programs, unless it takes too long; what it means if one raises."""
        errors: list[Exception | None] = []
        late = False  # then nobody knows whether the other one raises, too
        patience = float("inf") if self.cut else _PATIENCE * (self.deadline - time.monotonic())
        for name, program in (("original", self.old), ("new version", self.new)):
            self.stage(f"tracing the {name}")
            try:
                with self.marks.watching(), self.versions.patience(patience):
                    program.trace()
                errors.append(None)
            except TooLong:
                late = True
            except Exception as e:
                errors.append(e)
        return None if late or errors == [None, None] else self.failure(*errors)

    def compile(self) -> None:
        """Compiles both programs, but leaves out what would take too long."""
        light, heavy = sorted((self.new, self.old), key=lambda p: work(p.jaxpr.jaxpr))
        names = {self.old: "original", self.new: "new version"}
        # The cheaper one first: it pays for the start of the compiler.
        for program in (light, heavy):
            if program is heavy:
                self.stage(f"estimating what compiling the {names[heavy]} would take")
                heavy.estimate = too_long(heavy, light, self.deadline)
            if program.estimate is None:
                self.stage(f"compiling the {names[program]} ({program.equations:,} equations)")
                program.compile()

    def failure(self, old: Exception | None, new: Exception | None) -> dict[str, Any]:
        if old is not None and needs_values(old) and (new is None or needs_values(new)):
            return self.run_as_it_is()
        return self.failed([old, new])

    def failed(self, errors: list[Exception | None]) -> dict[str, Any]:
        return verdict_on_errors(errors[0], errors[1], str(self.modules[0].__file__))

    def run_as_it_is(self) -> dict[str, Any]:
        """A driver looks at values and cannot be traced: it is run as its user runs it."""
        self.stage("running both versions without jit")
        with self.marks.watching():
            pair = self.written.run(self.old.data)
        if pair.raised:
            return self.failed(pair.errors)
        results = [r for r in pair.results if r is not None]
        found = pair.compared(lambda: None)
        unseen = self.uncalled(*results)
        if unseen and not found.reason:
            return {"status": "unknown", "reason": unseen}
        return {
            "status": "different" if found.reason else "equal",
            "evidence": "measured",
            "reason": found.reason
            or _notes("run without jit, since the function looks at values", retyped(*results)),
            "max_ulp": found.max_ulp,
        }

    def as_written(self, proof: Proof) -> dict[str, Any] | None:
        """The verdict where the call as its user makes it differs; None where it does not."""
        if self.written.jitted:
            return None
        inputs = [self.old.data]
        if self.written.own_objects and not proof:
            inputs += [perturbed(self.old.data, *how) for how in _PERTURBATIONS]
        for data in inputs:
            verdict = self.written_for(data, proof)
            if verdict is not None:
                return verdict
        return None

    def written_for(self, data: list[Any], proof: Proof) -> dict[str, Any] | None:
        self.stage("running the call as it is written")
        late = time.monotonic() + 2 * self.old.stages.first > self.deadline
        if any(p.estimate is not None for p in (self.old, self.new)) or (self.slow and late):
            if data is not self.old.data:
                return None
            pair = self.written.run_stepwise()
        else:
            pair = self.written.run(data)
        if pair.raised:
            verdict = self.failed(pair.errors)
            return None if verdict["status"] == "equal" else verdict
        found = pair.compared(self.yardstick(data))
        if not found.reason:
            return None
        if proof and self.written.only_rounds(data):
            self.notes.append(f"as it is written they round differently: {found.reason}")
            return None
        self.given = data
        reason = f"as it is written {found.reason}"
        return {"status": "different", "evidence": "measured", "reason": reason}

    def outputs(self) -> Difference:
        """The first difference of the outputs, for the given and for perturbed data."""
        found = self.outputs_for(self.old.data)
        if found.reason or not any(is_float(leaf) for leaf in self.old.data):
            return found
        for seed, size in _PERTURBATIONS:
            data = perturbed(self.old.data, seed, size)
            other = self.outputs_for(data)
            other.max_ulp = max(found.max_ulp, other.max_ulp)
            if other.reason:
                self.given = data
                other.reason += " (on perturbed inputs)"
                return other
            found = other
        return found

    def outputs_for(self, data: list[Any]) -> Difference:
        self.stage("running both versions")
        return compare(self.old.run(data), self.new.run(data), self.yardstick(data))

    def yardstick(self, data: list[Any]) -> Yardstick:
        """Gives the original in double precision, computed where it is asked for."""

        @lru_cache(None)
        def exact() -> list[Any] | None:
            self.stage("computing a yardstick in double precision")
            return self.old.run_wide(data, eager=self.slow)

        return exact

    def gradient(self) -> tuple[str, str]:
        """The verdict on gradients, and a reason where it is not plain."""
        if time.monotonic() + 2 * self.old.stages.first > self.deadline and not self.slow:
            return "unknown", "no time was left to compare gradients"

        return compared(self.old, self.new, self.stage, slow=self.slow)


def _unreached(marks: Marks, why: str = "", raises: str = "") -> dict[str, Any]:
    reason = _notes(marks.missing, why)
    return {"status": "unknown", "reason": reason, "raises": raises, "reached": marks.reached}


def _notes(*texts: str) -> str:
    return "; ".join(filter(None, texts))
