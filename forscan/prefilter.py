"""What a look at the bytes of a file shows: most hold nothing of interest."""

from __future__ import annotations

import re
from pathlib import Path

from forscan.config import Config

_LIBRARIES = (b"jax", b"jnp", b"flax", b"equinox", b"haiku", b"forscan")
_LAX = (b"scan", b"_loop", b".map(", b"import map")
_FOR = re.compile(rb"(?:^|\r)[ \t\f\xef\xbb\xbf]*for\b", re.M)  # where a statement begins


def is_quiet(content: bytes, path: Path, config: Config) -> bool:
    """Whether a file surely holds no loop that a run is about; it is not parsed then."""
    if path.suffix == ".ipynb":
        return False
    if config.to == "for" or config.restyles:
        return not (any(word in content for word in _LAX) or _FOR.search(content))
    # Where the user says what is traced, a file need not mention jax.
    said = config.everything or bool(config.traced)
    if not (said or any(word in content for word in _LIBRARIES)):
        return True
    return _FOR.search(content) is None
