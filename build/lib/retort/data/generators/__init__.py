"""All generators of training rows: importing this package imports its files, and each registers its generators."""

from __future__ import annotations

import importlib
import pkgutil

from retort.data.generators.base import Generator, PretrainedWords, generators

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")

__all__ = ["Generator", "PretrainedWords", "generators"]
