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


def rules_of(plan: Plan) -> Rules:
    """Return the rules of a plan, with the jobs of companions, and of seeds, that the cost model allows.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    return Rules(plan, companions_of(plan, fits_one_job(plan)), divided_seeds(plan, hours_of_a_seed(plan)))


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

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings that its results must hold to count as done; None where they hold none."""
        return self.rule.params["settings"](self.wildcards) if self.rule.stamped else None

    @property
    def done(self) -> bool:
        """Whether the results exist and were made with the settings of the study."""
        if not self.rule.stamped:
            return all(Path(path).exists() for path in self.results)
        return len(self.records) == len(self.results)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The contents of the results that hold the settings of the study."""
        records, settings = list[dict[str, Any]](), self.settings
        for path in self.results if settings else ():
            try:
                record = json.loads(Path(path).read_text(encoding="utf-8"))
                if settings and difference(record["settings"], settings) is None:
                    records.append(record)
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return records


class Jobs:
    """The jobs of a plan, looked up by the paths of their results.

    Args:
        plan: the plan.
        rules: its rules; None for those of `rules_of`.
    """

    def __init__(self, plan: Plan, rules: Rules | None = None) -> None:
        self.rules, self.estimates = rules or rules_of(plan), Estimates(plan)
        self.known: dict[str, Job | None] = {}
        self.by_key: dict[str, Job] = {}

    def at(self, path: str) -> Job | None:
        """Return the job that makes a file or folder; None for a file of the study."""
        if path not in self.known:
            self.known[path] = self._job(path)
        return self.known[path]

    def _job(self, path: str) -> Job | None:
        made = self.rules.rule_of(path)
        if made is None:
            return None
        rule, wildcards = made
        key = rule.key(wildcards)
        if key not in self.by_key:
            self.by_key[key] = Job(
                rule, wildcards, tuple(rule.input_paths(wildcards)), self.estimates.of(rule, wildcards)
            )
        return self.by_key[key]

    def behind(self, paths: Iterable[str], stop_at_done: bool = False) -> Iterator[Job]:
        """Yield the jobs that make these files, and all jobs that those depend on, each once.

        Args:
            paths: the paths of the files.
            stop_at_done: leave out jobs that are done, and jobs that only they depend on.
        """
        seen, waiting = set[str](), list(reversed(list(paths)))
        while waiting:
            job = self.at(waiting.pop())
            if job is None or job.key in seen or (stop_at_done and job.done):
                continue
            seen.add(job.key)
            waiting += reversed(job.inputs)
            yield job

    def in_order(self, paths: Iterable[str]) -> list[Job]:
        """Return the jobs behind these files, each after those that it depends on."""
        ordered, open_jobs = dict[str, Job](), list[tuple[Job, bool]]()
        open_jobs += [(job, False) for path in reversed(list(paths)) if (job := self.at(path))]
        while open_jobs:
            job, is_ready = open_jobs.pop()
            if job.key in ordered:
                continue
            if is_ready:
                ordered[job.key] = job
            else:
                open_jobs.append((job, True))
                open_jobs += [(need, False) for path in reversed(job.inputs) if (need := self.at(path))]
        return list(ordered.values())
