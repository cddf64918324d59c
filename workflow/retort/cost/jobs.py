"""The jobs that make some files, found in the rules of the plan."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from retort import checksums
from retort.checksums import digest_of
from retort.cost.estimates import Estimate, Estimates
from retort.cost.resources import fits_one_job, hours_of_a_seed
from retort.plan.job_table import rules_of
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.plan.shared_activations import shared_activations
from retort.plan.sharing import companions_of, divided_seeds, group_is_free
from retort.settings.inputs import first_difference, settings_in

Record = dict[str, Any]
# rules that print, and rules whose results hold settings
PRINTING = {"make_table", "plot_figure", "check_claims", "make_page", "make_index", "make_audit"}
STAMPED = {"finetune_teacher", "distill_on_task", "finetune_student", "profile_student"}
CARDED = {"save_student", "fit_teacher_head"}  # rules whose results have a card with the settings
GRIDS = {"run_grid_of_teacher", "run_grid_on_task", "run_grid"}  # the checksums have a digest of the settings


def share_jobs(plan: Plan, estimates: Estimates, claimed: Container[str] = ()) -> None:
    """Decide which work of a plan shares a job: students side by side, seeds, and passes of a teacher over a task.

    Args:
        plan: the plan.
        estimates: those of its jobs; students and seeds share a job as far as they allow it.
        claimed: files and folders that other runs make or read.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    groups = companions_of(plan, fits_one_job(plan, estimates))
    plan.share(groups, divided_seeds(plan, hours_of_a_seed(plan, estimates)))
    plan.share_activations(shared_activations(plan, claimed))


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Args:
        rule: its rule.
        wildcards: the values of its wildcards, by name.
        inputs: the paths that it reads.
        estimate: what it takes.
    """

    rule: Rule
    wildcards: SimpleNamespace
    inputs: tuple[str, ...]
    estimate: Estimate

    @property
    def key(self) -> str:
        """Its log, by which it is known."""
        return self.rule.key(self.wildcards)

    @property
    def name(self) -> str:
        """What it does and of what, for reports."""
        return f"{self.rule.name}({', '.join(vars(self.wildcards).values())})"

    @cached_property
    def result(self) -> str:
        """The path of its first output."""
        return self.outputs[0]

    @cached_property
    def outputs(self) -> list[str]:
        """The paths of all files and folders that it makes."""
        return list(self.rule.makes(self.wildcards).values())

    @property
    def settings(self) -> Record | None:
        """The settings that its result must hold to count as done; None where it holds none."""
        return self.rule.params["settings"](self.wildcards) if self.rule.name in STAMPED else None

    @property
    def records(self) -> list[Record]:
        """What its result holds: a score for each seed, or a profile.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no JSON.
        """
        made = json.loads(Path(self.result).read_text(encoding="utf-8"))
        return made if isinstance(made, list) else [made]

    @property
    def done(self) -> bool:
        """Whether the result exists and was made with the settings of the study; one that tells none counts as made."""
        if (settings := self.settings) is None:
            return Path(self.result).exists() and not self._is_outdated
        try:
            return all(first_difference(record["settings"], settings) is None for record in self.records)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @property
    def _is_outdated(self) -> bool:
        """Whether the result of a distillation or a grid tells that it was made with other settings."""
        name, result = self.rule.name, Path(self.result)
        if name == "distill_students":
            members = self.rule.params["settings"](self.wildcards, None)
            return not group_is_free(self.wildcards.group, members, members.__getitem__)
        if name in CARDED:
            return settings_in(result / "README.md") not in (None, self.rule.params["settings"](self.wildcards))
        recorded = checksums.whole(result) if name in GRIDS else None
        own = digest_of(self.rule.params["settings"](self.wildcards)) if recorded else ""
        return recorded is not None and recorded.settings not in ("", own)


class Jobs:
    """The jobs of a plan, looked up by the paths of their results.

    Args:
        plan: the plan.
        estimates: the estimates with which the plan's work was divided among jobs; None: it is divided here.
    """

    def __init__(self, plan: Plan, estimates: Estimates | None = None) -> None:
        self.plan, self.estimates = plan, estimates or Estimates(plan)
        self.at = functools.cache(self._job)
        self.by_key: dict[str, Job] = {}
        self._done: dict[str, bool] = {}
        self._by_folder: dict[str, list[tuple[Rule, re.Pattern[str]]]] = {}
        if estimates is None:
            share_jobs(plan, self.estimates)
        for rule in rules_of(plan):
            for path, pattern in zip(rule.paths, rule.patterns, strict=True):
                self._by_folder.setdefault(_folder(path), []).append((rule, pattern))

    def _job(self, path: str) -> Job | None:
        """Return the job that makes a file or folder; None for a file of the study."""
        for rule, pattern in self._by_folder.get(_folder(path), []):
            if match := pattern.fullmatch(path):
                of = SimpleNamespace(**match.groupdict())
                key = rule.key(of)
                if key not in self.by_key:
                    inputs, estimate = tuple(rule.input_paths(of)), self.estimates.of(rule.name, **vars(of))
                    self.by_key[key] = Job(rule, of, inputs, estimate)
                return self.by_key[key]
        return None

    def is_done(self, job: Job) -> bool:
        """Return whether a job is done; a table or page is not while what it reads is not, such as a further seed."""
        if job.key not in self._done:
            needs = filter(None, map(self.at, job.inputs if job.rule.name in PRINTING else ()))
            self._done[job.key] = job.done and all(map(self.is_done, needs))
        return self._done[job.key]

    def behind(self, paths: Iterable[str], stop_at_done: bool = False, seen: set[str] | None = None) -> Iterator[Job]:
        """Yield the jobs that make these files, each once, and after the jobs that it depends on.

        Args:
            paths: the paths of the files.
            stop_at_done: leave out jobs that are done, and jobs that only they depend on.
            seen: the jobs that are left out; those that are yielded are added.
        """
        seen = set() if seen is None else seen
        for job in filter(None, map(self.at, paths)):
            if job.key not in seen and not (stop_at_done and self.is_done(job)):
                seen.add(job.key)
                yield from self.behind(job.inputs, stop_at_done, seen)
                yield job


def _folder(path: str) -> str:
    """Return the beginning of a path without wildcards, by which rules are indexed: 'reports', 'results/scores', ..."""
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "results" else first
