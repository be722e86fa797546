"""The options of one command, and the configuration under them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from forscan import config as configuration
from forscan.config import Config, ConfigError

Options = dict[str, Any]


def from_stdin(options: Options) -> bool:
    return tuple(options["targets"]) == ("-",)


def settings(options: Options, folder: Path) -> Config:
    """The configuration of a folder under the options of the command line.

    Raises:
      ConfigError: the configuration cannot be used.
    """
    config = configuration.load(Path(os.path.realpath(folder)))
    changes: dict[str, object] = {
        key: options[key]
        for key in ("to", "unroll", "body", "params")
        if options.get(key) is not None
    }
    if options.get("everything"):
        changes["everything"] = True
    config = replace(config, **changes)  # type: ignore[arg-type]
    styles = [f"--{name}" for name in ("unroll", "body", "params") if options.get(name) is not None]
    if config.to == "for" and styles:
        shaped = " and ".join(styles)
        raise ConfigError(
            f"{shaped}: for lax.scan and fori_loop only, a `for` has no body function"
        )
    if config.to == "fori" and config.body == "lambda":
        raise ConfigError("--body lambda is for lax.scan: a fori_loop gets its body as a def")
    return config
