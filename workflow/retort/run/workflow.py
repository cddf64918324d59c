"""What the Snakefile asks for: the plan of a run before it, and what is done at its beginning and at its end."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.shell import shell

from retort import machine
from retort.atomic import write_text
from retort.checksums import RESULTS
from retort.cost.estimates import Estimates
from retort.cost.jobs import PRINTING, Job, Jobs, share_jobs
from retort.cost.resources import JobResources
from retort.data.sources.fetch import link_moved_folders
from retort.errors import RetortError
from retort.job import forkserver, gpus, planned_run
from retort.plan.exhibits import Prints, audit_page, first, pages
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.plan.shared_activations import leftovers
from retort.run import run_folder, run_sources
from retort.run.failures import print_what_there_is
from retort.specs.config import read_config
from retort.study.questions import licences_of
from retort.study.study import Study

SCALE = RESULTS / "scale"  # the file that names the scale of the results
FIRST = 100  # the priority of jobs behind the first table
FEW = 3  # jobs: the start of a server of forks would take longer than it saves
EVERYTHING = "all"  # the rule
INDEX = Path("reports/index.html")


class Run:
    """A run of the workflow, from its plan to its end; a job of a run plans the same.

    Args:
        config: Snakemake's configuration; what the run decides is added to it.
        origins: key of the configuration -> the file or option that sets it.
        is_dry: whether nothing will be run.
        is_listed: whether each job is told with what it asks for; a short dry run does not.

    Raises:
        RetortError: the study, the configuration or the cluster's file has a mistake.
    """

    def __init__(
        self, config: dict[str, Any], origins: Mapping[str, str], is_dry: bool, is_listed: bool = True
    ) -> None:
        machine.settle_environment()
        _share_package()
        self.config, self.is_job = config, planned_run.is_job()
        config.update(planned_run.configuration())
        ask = run_sources.without_asking if is_dry else run_sources.with_answers_of_the_hub
        self.plan = Plan(read_config(config, origins=origins), None if self.is_job else ask)
        if not self.is_job:
            self.plan.settings.resolve_all()
        estimates = Estimates(self.plan)
        share_jobs(self.plan, estimates, () if self.is_job else _claimed())
        self.jobs, self.resources = Jobs(self.plan, estimates), JobResources(self.plan, estimates, is_listed)
        self.reads, self.prints = InputFunctions(self.plan), Prints(self.plan)
        decided = self.plan.config
        choices = {
            "run_sources": {**decided.run_sources.model_dump(mode="json"), "precision": decided.resolved_precision()},
            "companions": self.plan.groups,
            "activations": self.plan.activations,
            "seeds_divided": decided.seeds_divided,
        }
        config |= choices | {"licences": licences_of(self.plan.study).model_dump(mode="json")}
        self.files = {} if self.is_job else run_folder.files_of(decided)
        if not (self.is_job or is_dry):
            run_folder.decide(**choices)

    def begin(self, targets: set[str], planned: Iterable[Any] = ()) -> None:
        """Begin the run: keep its settings, and start a server of forks if many jobs run on this machine.

        Args:
            targets: the files that it is asked for; empty for everything.
            planned: Snakemake's jobs that will run.

        Raises:
            RetortError: another run is at work on the same, the results are of another scale, or a source that is asked
                for by name cannot be had.
        """
        jobs = list(self.jobs.behind(self.targets(targets)))
        seconds = {job.key: self.resources.seconds(job.estimate) for job in jobs}
        work = run_folder.RunWork.of(planned, seconds)
        run_folder.claim(work)
        mark_scale(self.plan.study)
        self._check_sources(jobs)
        for folder in leftovers(self.plan, work.reads | _claimed()):
            shutil.rmtree(folder, ignore_errors=True)
        run_sources.pin(self.plan.study)
        link_moved_folders(self.plan.study)
        run_folder.begin(self.config, self.plan.config, self.files)
        with contextlib.suppress(ImportError):  # jobs may have environments of their own, and this process less
            from retort.results.verification import verify_at_start

            verify_at_start({path for _, makes, _ in run_folder.others_at_work() for path in makes})
        if not self.plan.config.cluster:
            ahead = {job.key: job.rule.name for job in jobs if not Path(job.result).exists()}
            ahead |= {each.log: each.name.partition(":")[0] for each in work.jobs}  # also what is made anew
            if len(ahead) > FEW:
                printing = PRINTING.issuperset(ahead.values())
                forkserver.start(forkserver.FOR_PAGES if printing else forkserver.PRELOADED)
        if forkserver.is_running():
            shell.prefix(forkserver.shell_prefix().replace("{", "{{").replace("}", "}}"))  # it formats what it gets

    def _check_sources(self, jobs: list[Job]) -> None:
        """Check that no job fetches a source that cannot be had: Snakemake would delete what was fetched earlier.

        The plan leaves out what is known to be missing, so the user has asked for the source by name.
        """
        missing = self.plan.config.run_sources.missing
        fetched = [f"sources/{job.wildcards.source}" for job in jobs if job.rule.name == "fetch_source"]
        if lines := [missing[name] for name in fetched if name in missing]:
            count = f"{len(lines)} source{'s' * (len(lines) != 1)}"
            raise RetortError(f"{count} cannot be had, so nothing was run:" + "".join(f"\n  {line}" for line in lines))

    def targets(self, asked: set[str]) -> list[str]:
        """Return the files that a run is asked for: those that are named, or everything."""
        named = sorted(set(asked) - {EVERYTHING})
        return named if named and EVERYTHING not in asked else self.everything

    def priority(self, rule: str) -> Callable[[Any], int]:
        """Return a function from wildcards to the priority of a job: what the first table needs comes first."""
        return lambda wildcards: FIRST if (rule, *sorted(wildcards.items())) in self._first else 0

    @functools.cached_property
    def _first(self) -> set[tuple[Any, ...]]:
        """The jobs behind the first table, each as its rule and its wildcards."""
        jobs = self.jobs.behind(first(self.plan.study))
        return {(job.rule.name, *sorted(vars(job.wildcards).items())) for job in jobs}

    def gpus(self) -> int | None:
        """Return how many GPUs its jobs share on this machine; None if they ask for none, or another gives them."""
        return gpus.limit() if self.plan.config.gpus else None

    @property
    def everything(self) -> list[str]:
        """All pages."""
        return everything(self.plan.study)

    def succeed(self, targets: set[str]) -> None:
        """Print what came out.

        Args:
            targets: the files that it was asked for; empty for everything.

        Raises:
            RetortError: the run of everything had to leave something out.
        """
        with contextlib.suppress(ImportError):  # as in `begin`
            from retort.report.index import lines_of_run

            print(*lines_of_run(self.plan.study, self.targets(targets)), sep="\n", flush=True)
        missing = self.plan.config.run_sources.missing
        if missing and self.targets(targets) == self.everything:
            raise RetortError(run_sources.summary(missing))

    def fail(self, targets: set[str]) -> None:
        """Say what failed, and make the tables and pages that wait for it, with what there is.

        Args:
            targets: the files that the run was asked for; empty for everything.
        """
        if not self.is_job:
            config = {**self.config, **planned_run.configuration()}
            print_what_there_is(self.jobs, config, self.targets(targets))


def _claimed() -> set[str]:
    """Return the files and folders that other runs in this folder make or read."""
    return {path for _, makes, reads in run_folder.others_at_work() for path in makes | reads}


def everything(study: Study) -> list[str]:
    """Return the index, the pages of the papers, also of those that are not run, and the audit."""
    return [str(INDEX), *pages(study), *audit_page(study)]


def mark_scale(study: Study) -> None:
    """Mark the folder of results with the scale at which the students of published papers run in it.

    The path of a score does not contain the scale, so runs at two scales would write the same files. Do nothing if the
    scale runs no student of a published paper.

    Raises:
        RetortError: the folder is already marked with another scale.
    """
    scale = study.config.scale
    if not any(map(study.is_of_others, study.running)):
        return
    held = SCALE.read_text(encoding="utf-8").strip() if SCALE.is_file() else scale
    if held != scale:
        raise RetortError(
            f"results/ holds runs at scale {held}, which runs at scale {scale} would overwrite",
            "move results/ away, or work in another checkout",
        )
    write_text(SCALE, f"{scale}\n")


def _share_package() -> None:
    """Add this package to PYTHONPATH, so that jobs also find it in environments where it is not installed."""
    package = str(Path(__file__).resolve().parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, *(path for path in paths if path != package)]))
