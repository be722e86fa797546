"""Judges one call: by proof, else types, outputs, perturbed inputs, gradients; then costs."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .call import Call, is_float, perturbed
from .compare import Difference, compare
from .environment import environment
from .errors import line, needs_values
from .estimate import too_long
from .gradient import NoGradient, pullback, traced_pullback, wide_pullback
from .program import Program, Result, same_program, work
from .prove import Proof, same_outputs, same_shell
from .timing import costs
from .trips import FewTrips, few_trips
from .uncalled import uncalled

_PERTURBATIONS = ((0, 0.1), (1, 0.5))
# Seconds: compiling longer than this is not done twice: what else needs the original (its
# gradient, its double precision) is computed operation by operation.
_SLOW = 1.5
_GRADIENT_SLACK = 64.0
_QUICK = 1.0  # seconds of tracing within which a call is traced with other numbers too
_EAGER = "what is too long to compile was run operation by operation"


class Judge:
    """The judge of one call.

    Args:
      before, after: the two versions of the module.
      text: the call.
      deadline: when there should be a verdict, by `time.monotonic`.
      stage: is told what goes on, so that a time limit can say what took so long.
      early: is given an answer that holds already and may get better.
    """

    def __init__(
        self,
        before: types.ModuleType,
        after: types.ModuleType,
        text: str,
        deadline: float,
        stage: Callable[[str], None],
        early: Callable[[dict[str, Any]], None],
    ) -> None:
        stage("evaluating the arguments")
        self.calls = Call.parse(text, before), Call.parse(text, after)
        self.old, self.new = map(Program, self.calls)
        self.deadline = deadline
        self.stage = stage
        self.early = early

    @property
    def slow(self) -> bool:
        """Whether the original takes long to compile."""
        return self.old.estimate is not None or self.old.stages.first > _SLOW

    def verdict(self) -> dict[str, Any]:
        failure = self.trace()
        if failure is not None:
            return failure
        unseen = self.uncalled(self.old.shell, self.new.shell)
        if unseen:
            return {"status": "unknown", "reason": unseen}
        proof = self.prove()
        answer: dict[str, Any] = {"types": self.old.types}
        few = self.few_trips()
        if few.reason and not few.loud:
            return answer | {
                "status": "different",
                "evidence": "measured",
                "reason": few.reason,
            }
        self.notes = [few.reason]
        if proof:
            answer |= {"status": "equal", "evidence": "proved"}
            answer |= self.proved_gradient()
            # An answer already, should compiling take longer than there is time.
            self.early(answer)
        self.compile()
        return self.measure(answer, proof)

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
        answer["reason"] = "; ".join(filter(None, [*notes, *self.notes]))
        if answer["gradient"] == "different":
            answer["status"] = "different"
            return answer
        self.stage("measuring run times")
        answer["environment"] = environment()
        answer["before"], answer["after"] = costs(self.old, self.new)
        return answer

    def uncalled(self, old: Result, new: Result) -> str:
        """Why a call says nothing of a function that it gives back; empty where none is new."""
        name = "" if same_shell(old, new) else uncalled(old, new)
        return name and f"it gives back the function {name}, which is not called in it"

    def prove(self) -> Proof:
        """Whether the traces alone show that both versions are the same."""
        self.stage("comparing the traces")
        try:
            reason = same_shell(self.old.shell, self.new.shell)
            return Proof(reason) if reason else same_outputs(self.old.jaxpr, self.new.jaxpr)
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
        """Traces both programs; what an exception means, if one of them raises."""
        errors: list[Exception | None] = []
        for name, program in (("original", self.old), ("new version", self.new)):
            self.stage(f"tracing the {name}")
            try:
                program.trace()
                errors.append(None)
            except Exception as e:
                errors.append(e)
        return None if errors == [None, None] else self.failure(*errors)

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
        if old is not None and new is not None:
            if type(old) is type(new) and needs_values(old):
                return self.run_as_it_is()
            return {"status": "unknown", "reason": f"both versions raise {line(old)}"}
        if old is not None:
            return {"status": "unknown", "reason": f"the original raises {line(old)}"}
        assert new is not None
        return {"status": "different", "reason": f"the new version raises {line(new)}"}

    def run_as_it_is(self) -> dict[str, Any]:
        """A driver looks at values and cannot be traced: it is run as its user runs it."""
        self.stage("running both versions without jit")
        results = [p.run_eagerly(p.data) for p in (self.old, self.new)]
        found = compare(results[0], results[1], lambda: None)
        unseen = self.uncalled(*results)
        if unseen and not found.reason:
            return {"status": "unknown", "reason": unseen}
        return {
            "status": "different" if found.reason else "equal",
            "evidence": "measured",
            "reason": found.reason or "run without jit, since the function looks at values",
            "max_ulp": found.max_ulp,
        }

    def outputs(self) -> Difference:
        """The first difference of the outputs, for the given and for perturbed data."""
        found = self.outputs_for(self.old.data)
        if found.reason or not any(is_float(leaf) for leaf in self.old.data):
            return found
        for seed, size in _PERTURBATIONS:
            other = self.outputs_for(perturbed(self.old.data, seed, size))
            other.max_ulp = max(found.max_ulp, other.max_ulp)
            if other.reason:
                other.reason += " (on perturbed inputs)"
                return other
            found = other
        return found

    def outputs_for(self, data: list[Any]) -> Difference:
        @lru_cache(None)
        def yardstick() -> list[Any] | None:
            self.stage("computing a yardstick in double precision")
            return self.old.run_wide(data, eager=self.slow)

        self.stage("running both versions")
        return compare(self.old.run(data), self.new.run(data), yardstick)

    def gradient(self) -> tuple[str, str]:
        """The verdict on gradients, and a reason where it is not plain."""
        if time.monotonic() + 2 * self.old.stages.first > self.deadline and not self.slow:
            return "unknown", "no time was left to compare gradients"

        @lru_cache(None)
        def yardstick() -> list[Any] | None:
            return wide_pullback(self.old, self.old.data, eager=self.slow)

        self.stage("differentiating the original")
        try:
            want = pullback(self.old, self.old.data, eager=self.slow)
        except NoGradient:
            return "none", ""
        except Exception:
            return "none", "the original cannot be differentiated in reverse"
        self.stage("differentiating the new version")
        try:
            have = pullback(self.new, self.new.data, eager=self.new.estimate is not None)
        except Exception as e:
            return "different", f"the gradient of the new version raises {line(e)}"
        found = compare(want, have, yardstick, _GRADIENT_SLACK)
        if not found.reason:
            return "equal", ""
        if self.slow or self.new.estimate is not None:
            # Operation by operation the original rounds in other places than under jit.
            return "unknown", f"gradient not sure: {found.reason}"
        return "different", f"gradient: {found.reason}"
