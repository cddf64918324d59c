"""The audit: checks that find errors in the numbers that papers report, one check per type of error.

Importing this package imports every file in it, and each file registers its checks.
"""

import importlib
import pkgutil

from retort.audit.base import MEANING, Finding, as_text, audit, checks, condition_of, counts_of_sorts

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")

__all__ = ["MEANING", "Finding", "as_text", "audit", "checks", "condition_of", "counts_of_sorts"]
