"""The verb `rehearse`, which runs every job of the papers' plan in miniature, in one process."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from retort.cli.base import argument, config_of, verb
from retort.specs.config import ROOT, Config, read_config

FOLDER = "results/rehearsal"


def _config(arguments: argparse.Namespace) -> Config:
    """Return the configuration at scale rehearsal, with the papers that the call names."""
    content = config_of(arguments).model_dump(exclude={"run_sources"})
    changed = {"scale": "rehearsal", "papers": arguments.papers or None, "data_dir": None, "models_dir": None}
    return read_config({**content, **changed})


@verb(
    "rehearse",
    argument("papers", nargs="*", metavar="paper", help="only these (default: all printed papers)"),
    argument("--distinct", action="store_true", help="one training of each distinct combination, and no table"),
    argument("--folder", default=FOLDER, help=f"where it runs, with results/ and reports/ of its own ({FOLDER})"),
)
def rehearse(arguments: argparse.Namespace) -> int:
    """Run every job of the papers in miniature on made data, in one process, and tell what fails."""
    from retort.plan.plan import Plan  # imported late: they import Snakemake
    from retort.rehearsal.distinct import distinct_trainings
    from retort.rehearsal.progress import Progress, summary
    from retort.rehearsal.run import Rehearsal, run

    config, folder = _config(arguments), Path(arguments.folder).absolute()
    targets = distinct_trainings(Plan(config)) if arguments.distinct else []
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "config.json"
    content = config.model_dump(mode="json", exclude={"run_sources"})
    file.write_text(json.dumps({**content, "study": str(config.folder)}, indent=1) + "\n", encoding="utf-8")
    rehearsal = Rehearsal(Progress(folder))
    status = run(rehearsal, [*_arguments(folder, file), "--", *targets] if targets else _arguments(folder, file))
    failed = sum(job.failed for job in rehearsal.jobs)
    print(*summary(rehearsal.jobs), sep="\n")
    if status and not failed:
        print(f"Snakemake ended with an error; its own log is in {folder}/.snakemake/log", file=sys.stderr)
    print(f"{len(rehearsal.jobs)} jobs, {failed} failed; the pages are in {folder / 'reports'}")
    return min(status, 1)


def _arguments(folder: Path, config: Path) -> list[str]:
    """Return the arguments of Snakemake; the greedy scheduler costs least, and one job runs at a time."""
    options = ["--cores", "1", "--scheduler", "greedy", "--keep-going", "--rerun-incomplete", "--quiet", "all"]
    return ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder), "--configfile", str(config), *options]
