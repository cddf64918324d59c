"""Paths of the tables, figures and claims of the report; pages can be made from other files than those of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Files:
    """The files from which pages are made.

    Args:
        root: the folder that holds `results` and `reports`.
    """

    root: Path = Path()

    def tidy(self, paper: str, name: str) -> Path:
        """Return the path of the tidy CSV of a table or figure."""
        return self.root / f"results/tables/{paper}/{name}.csv"

    def printed(self, paper: str, name: str) -> Path:
        """Return the path of a table, or of the claims, as HTML."""
        return self.root / f"reports/{paper}/{name}.html"

    def drawn(self, paper: str, name: str) -> Path:
        """Return the path of a figure, or of the plot of a table's verdicts."""
        return self.root / f"reports/{paper}/{name}.svg"


RUN = Files()  # the files of the run in the current folder
