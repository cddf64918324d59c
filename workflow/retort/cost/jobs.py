"""The jobs that a table needs, found from the files that it reads, each with its estimate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from retort.cost.estimates import Estimate, Estimates
from retort.cost.rules import Rules
from retort.cost.side_by_side import fits_one_job
from retort.plan.companions import Companions
from retort.plan.plan import Plan
from retort.settings import Settings
from retort.settings.difference import difference


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Args:
        rule: its rule.
        wildcards: the values of its wildcards, by name.
        address: the path of its first result.
        needs: the paths that it reads.
        estimate: what it takes.
        settings: the settings that its result must hold to count as done; None where the result holds none.
    """

    rule: str
    wildcards: dict[str, str]
    address: str
    needs: tuple[str, ...]
    estimate: Estimate
    settings: Settings | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """Its rule and its wildcards."""
        return (self.rule, *self.wildcards.values())

    @property
    def name(self) -> str:
        """Its rule and its wildcards in one text, for reports."""
        return f"{self.rule}({', '.join(self.wildcards.values())})"

    @property
    def done(self) -> bool:
        """Whether the result exists and was made with the settings of the study."""
        return Path(self.address).exists() if self.settings is None else self.record is not None

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The content of the result, if that holds the settings of the study; else None."""
        try:
            record: dict[str, Any] = json.loads(Path(self.address).read_text(encoding="utf-8"))
            recorded = record["settings"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        made_here = self.settings is not None and difference(recorded, self.settings.as_json()) is None
        return record if made_here else None


class Jobs:
    """The jobs of a plan, looked up by the paths of their results.

    Args:
        plan: the plan.
        targets: the files that a run is asked for by name, none for all files; they decide which students are
            companions.
    """

    def __init__(self, plan: Plan, targets: Iterable[str] = ()) -> None:
        self.plan, asked = plan, list(targets)
        companions = Companions(plan, lambda: asked, fits_one_job(plan))
        self.rules, self.estimates = Rules(plan, companions), Estimates(plan, companions)
        self.known: dict[str, Job | None] = {}

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
        values = vars(wildcards)
        first = rule.outputs[0].format(**values)
        if first != path:  # a job is known by its first output
            return self.at(first)
        estimate = self.estimates.of(rule.name, wildcards)
        return Job(
            rule.name, values, path, tuple(rule.needs(wildcards)), estimate, self._settings(rule.name, wildcards)
        )

    def _settings(self, rule: str, wildcards: SimpleNamespace) -> Settings | None:
        """Return the settings that the first result of a job holds; None where it holds none."""
        settings = self.plan.settings
        settings_of: dict[str, Callable[[], Settings]] = {
            "finetune_teacher": lambda: settings.teachers[wildcards.teacher][wildcards.task],
            "distill_on_task": lambda: settings.distillations[wildcards.student][wildcards.task],
            "finetune_student": lambda: settings.finetunings[wildcards.student][wildcards.task],
            "profile_student": lambda: settings.profiles[wildcards.student],
        }
        return settings_of[rule]() if rule in settings_of else None

    def behind(self, paths: list[str], stop_at_done: bool = False) -> Iterator[Job]:
        """Yield the jobs that make these files, and all jobs that those depend on, each once.

        Args:
            paths: the paths of the files.
            stop_at_done: leave out jobs that are done, and jobs that only they depend on.
        """
        seen, waiting = set[tuple[str, ...]](), list(reversed(paths))
        while waiting:
            job = self.at(waiting.pop())
            if job is None or job.key in seen or (stop_at_done and job.done):
                continue
            seen.add(job.key)
            waiting += reversed(job.needs)
            yield job
