"""Python imports this when it starts, because its folder comes first on PYTHONPATH.

It starts the recorder, takes itself out of the way, and hands over to the sitecustomize
that would have been imported without it.
"""

import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start() -> None:
    folder = os.path.dirname(_HERE)
    spec = importlib.util.spec_from_file_location(
        "forscan_recorder",
        os.path.join(folder, "__init__.py"),
        submodule_search_locations=[folder],
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["forscan_recorder"] = package
    spec.loader.exec_module(package)
    importlib.import_module("forscan_recorder.start").start()


def _hand_over() -> None:
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _HERE]
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ModuleNotFoundError as e:
        if e.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = this  # the import that goes on wants to find it


try:
    _start()
except Exception as e:  # the program runs all the same
    print(f"forscan: nothing is recorded in this process: {e!r}", file=sys.stderr)
_hand_over()
