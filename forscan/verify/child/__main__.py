"""Loads this folder as the package `forscan_child` and runs the job that is named."""

import contextlib
import importlib.util
import os
import sys
import traceback
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
    main = importlib.import_module("forscan_child.job").main
    # Threads and exit handlers of the user's module are of no interest, nor what it made of this.
    leave, code = os._exit, 1
    try:
        main(Path(sys.argv[1]))
        code = 0
        sys.stdout.flush()
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    leave(code)
