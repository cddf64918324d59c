"""Rebuild the tables and figures of papers on distilling BERT-like encoders.

From Python, the package offers the names of `__all__`, see python.md. Each is imported when it is first asked
for, so that the command line starts without pandas and torch.
"""

from importlib import import_module
from typing import Any

__version__ = "1.0.0"

# name -> the module that has it
_HOMES = {
    "Config": "specs.config",
    "open_study": "study.load",
    **dict.fromkeys(("cells", "measured", "reported", "recorded", "tabulated", "judged", "steps"), "tables.numbers"),
    "loss": "training.own_loop",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'retort' has no attribute {name!r}")
    return getattr(import_module(f"retort.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the names that a notebook completes."""
    return [*globals(), *_HOMES]
