"""All objectives: importing this package imports every file in it, and each file registers its objectives."""

from __future__ import annotations

import importlib
import pkgutil

from retort.objectives.base import Activations, Pair, objectives
from retort.objectives.compose import LossTerm, WeightedSum, loss_of, single_loss

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")

__all__ = ["Activations", "LossTerm", "Pair", "WeightedSum", "loss_of", "objectives", "single_loss"]
