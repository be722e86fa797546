"""Loads this folder as the package `forscan_child` and runs the job that is named."""

import importlib.util
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != folder]
    spec = importlib.util.spec_from_file_location(
        "forscan_child", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["forscan_child"] = package
    spec.loader.exec_module(package)
    importlib.import_module("forscan_child.job").main(Path(sys.argv[1]))
    # Threads and exit handlers of the user's module are of no interest any more.
    sys.stdout.flush()
    os._exit(0)
