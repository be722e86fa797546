"""forscan: rewrites loops in JAX code between `for`, `lax.scan` and `lax.fori_loop`.

    from pathlib import Path
    from forscan import Config, convert

    path = Path("model.py")
    result = convert(path.read_bytes(), path, Config(to="scan"))
    path.write_bytes(result.after)

`convert` never runs the code that it is given; `verify` does, in a child process.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forscan.api import convert_bytes as convert
    from forscan.config import Config
    from forscan.types import FileResult, Outcome, Selection, Status
    from forscan.verify import Verification
    from forscan.verify import verify_sources as verify

__version__ = "0.1.0"
__all__ = [
    "Config",
    "FileResult",
    "Outcome",
    "Selection",
    "Status",
    "Verification",
    "convert",
    "verify",
]

_HOMES = {
    "Config": ("forscan.config", "Config"),
    "FileResult": ("forscan.types", "FileResult"),
    "Outcome": ("forscan.types", "Outcome"),
    "Selection": ("forscan.types", "Selection"),
    "Status": ("forscan.types", "Status"),
    "Verification": ("forscan.verify", "Verification"),
    "convert": ("forscan.api", "convert_bytes"),
    "verify": ("forscan.verify", "verify_sources"),
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are asked for: the command starts faster so."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'forscan' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
