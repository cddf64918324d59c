"""The jobs that make some files, found in the rules of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from retort.cost.estimates import Estimate, Estimates
from retort.cost.resources import fits_one_job, hours_of_a_seed
from retort.plan.plan import Plan
from retort.plan.rule import Rule, paths_in
from retort.plan.rules import Rules
from retort.plan.sharing import companions_of, divided_seeds
from retort.settings.inputs import difference

PRINTING = {"make_table", "plot_figure", "check_claims", "make_page", "make_index", "make_audit"}  # kinds of rules


def rules_of(plan: Plan, estimates: Estimates | None = None) -> Rules:
    """Return the rules of a plan, with the jobs of companions, and of seeds, that the cost model allows.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    estimates = estimates or Estimates(plan)
    companions = companions_of(plan, fits_one_job(plan, estimates))
    return Rules(plan, companions, divided_seeds(plan, hours_of_a_seed(plan, estimates)))


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
        return f"{self.rule.kind}({', '.join(filter(None, [*vars(self.wildcards).values(), self.rule.label]))})"

    @cached_property
    def results(self) -> list[str]:
        """The paths of its first outputs: the scores of all seeds, or one file or folder."""
        return paths_in(next(iter(self.rule.makes(self.wildcards).values())))

    @cached_property
    def outputs(self) -> list[str]:
        """The paths of all files and folders that it makes."""
        return self.rule.output_paths(self.wildcards)

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings that its results must hold to count as done; None where they hold none."""
        return self.rule.params["settings"](self.wildcards) if self.rule.stamped else None

    @property
    def done(self) -> bool:
        """Whether the results exist and were made with the settings of the study."""
        return all(map(self._is_made, self.results))

    def _is_made(self, path: str) -> bool:
        if (settings := self.settings) is None:
            return Path(path).exists()
        try:
            made = json.loads(Path(path).read_text(encoding="utf-8"))["settings"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return difference(made, settings) is None


class Jobs:
    """The jobs of a plan, looked up by the paths of their results.

    Args:
        plan: the plan.
        rules: its rules; None for those of `rules_of`.
    """

    def __init__(self, plan: Plan, rules: Rules | None = None) -> None:
        self.estimates = Estimates(plan)
        self.rules = rules or rules_of(plan, self.estimates)
        self.known: dict[str, Job | None] = {}
        self.by_key: dict[str, Job] = {}
        self._done: dict[str, bool] = {}

    def at(self, path: str) -> Job | None:
        """Return the job that makes a file or folder; None for a file of the study."""
        if path not in self.known:
            self.known[path] = self._job(path)
        return self.known[path]

    def _job(self, path: str) -> Job | None:
        made = self.rules.rule_of(path)
        if made is None:
            return None
        rule, of = made
        key = rule.key(of)
        if key not in self.by_key:
            self.by_key[key] = Job(rule, of, tuple(rule.input_paths(of)), self.estimates.of(rule, of))
        return self.by_key[key]

    def is_done(self, job: Job) -> bool:
        """Return whether a job is done; a table or page is not while what it reads is not, such as a further seed."""
        if job.key not in self._done:
            needs = filter(None, map(self.at, job.inputs if job.rule.kind in PRINTING else ()))
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
