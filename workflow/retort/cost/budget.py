"""What to run for some hours: a greedy choice of the claims that they decide, over the jobs that claims share.

A claim is decided when all of its students are trained on its tasks, each under as many seeds as it needs. The choice
is greedy: again and again it adds what still fits and decides most for each further hour: a claim, or all open claims
about one student. Then each chosen claim, and all about one student, are given up once, to see whether others that fit
then count more. This is no optimum; a test compares it with one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from retort.cost.jobs import Jobs
from retort.cost.overview import hours_of, with_models
from retort.cost.speed import Speed
from retort.plan.plan import Plan
from retort.study.addresses import SCORE_FILE, score_file_of_seed, score_folder, seeds_in
from retort.study.distillations import distillations_of, further_name, has_distillation
from retort.study.questions import seeds_of, start_lineage

# student or teacher -> its tasks, and the seeds on each of them; or the distillations, each with all of its seeds
Runs = Mapping[str, tuple[frozenset[str], int]]
OF_A_DISTILLATION = ("distill_students", "save_student", "run_grid")  # rules
Price = Callable[[Runs], float]  # the hours that some runs still take
NONE: Runs = {}
FREE = 1e-9  # hours


def joined_runs(first: Runs, second: Runs) -> Runs:
    """Return runs that include two others; a student has the same seeds on all of its tasks."""
    runs = dict(first)
    for name, (tasks, seeds) in second.items():
        known, least = runs.get(name, (frozenset[str](), 0))
        runs[name] = (known | tasks, max(seeds, least))
    return runs


def includes_runs(runs: Runs, part: Runs) -> bool:
    """Return whether runs include others."""
    return all(
        name in runs and tasks <= runs[name][0] and seeds <= runs[name][1] for name, (tasks, seeds) in part.items()
    )


@dataclass(frozen=True)
class Demand:
    """What decides a claim.

    Args:
        name: 'paper/claim'.
        runs: what is trained for it; nothing for a claim about sizes.
        weight: what it counts.
    """

    name: str
    runs: Runs
    weight: float = 1.0


def choose_runs(demands: Sequence[Demand], price: Price, hours: float) -> Runs:
    """Return what to run for some hours at most.

    Args:
        demands: the open claims.
        price: the hours of some runs; more runs never take less.
        hours: what may be spent.
    """
    runs = _add(demands, {}, price, hours)
    decided = [each for each in demands if each.runs and includes_runs(runs, each.runs)]
    about = (frozenset(each.name for each in decided if name in each.runs) for name in runs)
    for given_up in dict.fromkeys([*(frozenset([each.name]) for each in decided), *about]):
        others = [each for each in demands if each.name not in given_up]
        kept = functools.reduce(joined_runs, (each.runs for each in others if includes_runs(runs, each.runs)), NONE)
        changed = _add(demands, _add(others, kept, price, hours), price, hours)
        if weight_of(demands, changed) > weight_of(demands, runs):
            runs = changed
    return runs


def steps_of(demands: Sequence[Demand], price: Price) -> Iterator[Runs]:
    """Yield the runs of a greedy choice without a limit, one claim of its additions after another, cheap ones first."""
    runs = NONE
    while (more := _better(demands, runs, price, math.inf)) is not runs:
        while added := [
            each.runs for each in demands if includes_runs(more, each.runs) and not includes_runs(runs, each.runs)
        ]:
            yield (runs := min((joined_runs(runs, each) for each in added), key=price))


def _add(demands: Sequence[Demand], runs: Runs, price: Price, hours: float) -> Runs:
    """Return some runs with all that is added to them."""
    while (more := _better(demands, runs, price, hours)) is not runs:
        runs = more
    return runs


def _better(demands: Sequence[Demand], runs: Runs, price: Price, hours: float) -> Runs:
    """Return some runs with the addition that fits and decides most for each further hour; unchanged without one."""
    left = [each for each in demands if not includes_runs(runs, each.runs)]
    best, rate, spent = runs, 0.0, price(runs)
    for addition in _additions(left, runs):
        taken = price(addition)
        gain = weight_of(left, addition) / max(taken - spent, FREE)
        if taken <= hours and gain > rate:
            best, rate = addition, gain
    return best


def _additions(left: Sequence[Demand], runs: Runs) -> Iterator[Runs]:
    """Yield some runs with each claim's, and with those of all claims about each student."""
    yield from (joined_runs(runs, each.runs) for each in left)
    for student in dict.fromkeys(name for each in left for name in each.runs if name not in runs):
        yield functools.reduce(joined_runs, [each.runs for each in left if student in each.runs], runs)


def weight_of(demands: Iterable[Demand], runs: Runs) -> float:
    """Return what the claims count that some runs decide."""
    return sum(each.weight for each in demands if includes_runs(runs, each.runs))


class Prices:
    """The hours of runs on one device: of the jobs that are not done, each once, of those that run a model.

    Args:
        plan: the plan, without a budget and without companions.
        speed: of the device.
    """

    def __init__(self, plan: Plan, speed: Speed) -> None:
        self.plan, self.jobs, self.speed = plan, Jobs(plan), speed
        self._parts_of = functools.cache(self._uncached_parts_of)
        self._parts_of_tasks = functools.cache(self._uncached_parts_of_tasks)

    def hours(self, runs: Runs, left: bool = True) -> float:
        """Return the hours of some runs.

        Args:
            runs: the runs.
            left: leave out what is done.
        """
        shared, of_seeds = dict[str, float](), 0.0
        for student, (tasks, count) in runs.items():
            before, of_tasks = self._parts_of_tasks(student, tasks, left)
            shared |= before
            made = min(made for _, made in of_tasks)
            further = range(max(1, made), count) if has_distillation(self.plan.study, student) else ()
            own = self._of_one(student, tasks) if further else {}
            shared |= {f"{key}, once more {number}": hours for number in further for key, hours in own.items()}
            of_seeds += sum(each * max(0, count - made) for each, made in of_tasks)
        return of_seeds + sum(shared.values())

    def _of_one(self, student: str, tasks: frozenset[str]) -> dict[str, float]:
        """Return the hours of the jobs that each distillation of a student has for itself, before its fine-tunings."""
        before, _ = self._parts_of_tasks(student, tasks, False)
        names, jobs = {*start_lineage(self.plan.study, student)}, self.jobs.by_key
        own = [key for key in before if jobs[key].rule.name in OF_A_DISTILLATION]
        return {key: before[key] for key in own if not names.isdisjoint(vars(jobs[key].wildcards).values())}

    def whole(self, student: str, tasks: Iterable[str]) -> Runs:
        """Return the runs of a student or teacher on some tasks under all of its seeds, or with all distillations."""
        study = self.plan.study
        return {student: (frozenset(tasks), len(distillations_of(study, student)) or len(seeds_of(study, student)))}

    def with_what_is_free(self, runs: Runs) -> Runs:
        """Return some runs with the scores of teachers that are trained for them anyway."""
        spent = self.hours(runs)
        for name, task in self.plan.pairs:
            more = joined_runs(runs, self.whole(name, [task])) if name in self.plan.study.teachers else runs
            runs = more if self.hours(more) <= spent else runs
        return runs

    def begun(self) -> Runs:
        """Return the runs of which there is a score."""
        every = [{name: (frozenset([task]), self._made(name, task))} for name, task in self.plan.pairs]
        return functools.reduce(joined_runs, [each for each in every if next(iter(each.values()))[1]], {})

    def _made(self, student: str, task: str) -> int:
        """Count the seeds of a student on a task that have a score; or its distillations of which some have one."""
        if has_distillation(self.plan.study, student):
            further = score_folder(student, task).parents[1].glob(further_name(student, "*"))
            return sum(score_folder(name, task).is_dir() for name in (student, *(path.name for path in further)))
        folder = score_folder(student, task)
        found = (SCORE_FILE.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
        return len({seed for name in found if name for seed in seeds_in(name[1])})

    def _uncached_parts_of_tasks(
        self, student: str, tasks: frozenset[str], left: bool
    ) -> tuple[dict[str, float], list[tuple[float, int]]]:
        """Return what `_parts_of` gives for some tasks: all jobs before the seeds, and the seeds on each task."""
        parts = [self._parts_of(student, task, left) for task in sorted(tasks)]
        before = {key: hours for jobs, _, _ in parts for key, hours in jobs.items()}
        return before, [(each, made) for _, each, made in parts]

    def _uncached_parts_of(self, student: str, task: str, left: bool) -> tuple[dict[str, float], float, int]:
        """Return the hours of the jobs before the seeds, by key, those of a seed, and how many seeds are made."""
        plan = self.plan
        seed = seeds_of(plan.study, student)[0]
        score = score_file_of_seed(plan.study, student, task, seed)
        job = self.jobs.at(score)
        assert job is not None  # a rule makes each score
        sent = plan.sends and task in plan.settings.predictions and (student, seed) in plan.sent
        of_seeds = student not in plan.study.teachers
        paths = [*(job.inputs if of_seeds else [score])]
        paths += [f"results/answers/{student}/seed-{seed}/{task}.json"] if sent else []
        behind = with_models(self.jobs.behind(paths, stop_at_done=left))
        before = {one.key: hours_of([one], self.speed) for one in behind if one is not job or not of_seeds}
        each = self.speed.hours(self.jobs.estimates.of_seed(student, task).work) if of_seeds else 0.0
        each *= len(seeds_of(plan.study, student)) if has_distillation(plan.study, student) else 1
        return before, each, self._made(student, task) if left else 0
