"""The reference of every objective: importing this package imports every file in it, and each registers its own."""

from __future__ import annotations

import importlib
import pkgutil

from tests.references.plain import CASES, REFERENCES

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")

__all__ = ["CASES", "REFERENCES"]
