"""Runs two versions of a module and shows whether they are equal.

Only the child process knows jax and the user's code.
"""

from forscan.verify.result import Cost, Verification
from forscan.verify.runner import VerifyUnavailable, observe_source, verify_sources

__all__ = ["Cost", "Verification", "VerifyUnavailable", "observe_source", "verify_sources"]
