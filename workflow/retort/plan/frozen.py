"""The settings of a run, frozen at its start: its jobs read them, whatever is edited meanwhile.

A job starts minutes or days after the run was planned. So the run keeps the configuration and the YAML files that it
was planned with, in a folder named after their content, and the environment of its jobs names that folder.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.atomic import write_json, write_text
from retort.attempts import begin_run
from retort.checksums import digest_of
from retort.run_config import VARIABLE
from retort.specs.config import Config

FOLDER = Path("results/runs")
KEPT_SECONDS = 30 * 24 * 3600.0  # a job may wait long in a queue


@dataclass(frozen=True)
class Frozen:
    """The configuration and the YAML files of a run.

    Args:
        config: the configuration, with the folder that the files are copied to, and the precision that was found.
        files: path in the study's folder -> content.
        cluster: the content of the cluster's file; None without one.
    """

    config: dict[str, Any]
    files: dict[str, str]
    cluster: str | None

    @classmethod
    def of(cls, config: dict[str, Any], checked: Config) -> Frozen:
        """Read what a run is planned with.

        Args:
            config: the configuration as Snakemake has it.
            checked: the same, checked.
        """
        paths = sorted(path for path in checked.folder.rglob("*.yaml") if path.is_file())
        files = {str(path.relative_to(checked.folder)): path.read_text(encoding="utf-8") for path in paths}
        cluster = Path(checked.cluster).read_text(encoding="utf-8") if checked.cluster else None
        return cls({**config, "precision": checked.resolved_precision()}, files, cluster)

    def with_decisions(self, **decided: Any) -> Frozen:
        """Return a copy with more keys of the configuration: what the run decided while it was planned."""
        return replace(self, config={**self.config, **decided})

    @property
    def folder(self) -> Path:
        """The folder of the run, named after its content: equal runs share it."""
        return FOLDER / digest_of([self.config, self.files, self.cluster])[:16]

    def keep(self) -> None:
        """Write the folder, name it in the environment of the jobs to come, and delete the folders of old runs.

        This begins a new run: it gets a name of its own, too (`attempts.begin_run`).
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            write_text(self.folder / "study" / name, text)
        config = {**self.config, "study": str((self.folder / "study").absolute())}
        if self.cluster is not None:
            write_text(self.folder / "cluster.yaml", self.cluster)
            config["cluster"] = str((self.folder / "cluster.yaml").absolute())
        write_json(self.folder / "config.json", config)
        os.utime(self.folder)
        os.environ[VARIABLE] = str(self.folder)
        begin_run()
        for other in FOLDER.iterdir():
            if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
