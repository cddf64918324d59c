"""What to run for some hours: a greedy choice of the claims that they decide, over the jobs that claims share.

A claim is decided when all of its students are trained on its tasks, each under as many seeds as it needs. The choice
is greedy: again and again it adds what still fits and decides most for each further hour: a claim, or all open claims
about one student. Then each chosen claim, and all about one student, are given up once, to see whether others that fit
then count more. This is no optimum; a test compares it with one.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retort.cost.jobs import Jobs
from retort.cost.overview import hours_of, with_models
from retort.cost.speed import Speed
from retort.plan import resolve
from retort.plan.plan import Plan
from retort.plan.sharing import student_is_made, students_in
from retort.settings.inputs import first_difference
from retort.study.addresses import SCORE_FILE, score_file_of_seed, score_folder
from retort.study.distillations import distillations_of, enter_further, further_name, has_distillation, trained_anew
from retort.study.questions import seeds_of, start_lineage
from retort.study.study import Study

# student or teacher -> its tasks, and the seeds on each of them; or the distillations, each with all of its seeds
Runs = Mapping[str, tuple[frozenset[str], int]]
DISTILS = "distill_students"
OF_A_DISTILLATION = (DISTILS, "run_grid", "run_grid_on_task")  # rules
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
        self.found = _with_what_is_found(plan.study)
        # further distillations that a protocol asks for count with their student
        self.pairs = [pair for pair in plan.pairs if pair[0] not in plan.study.further]
        self._before = functools.cache(self._uncached_before)
        self._before_tasks = functools.cache(self._uncached_before_tasks)
        self._of_seeds = functools.cache(self._uncached_of_seeds)
        self._once_more = functools.cache(self._uncached_once_more)

    def hours(self, runs: Runs) -> float:
        """Return the hours that some runs still take."""
        shared, of_seeds = dict[str, float](), 0.0
        for student, (tasks, count) in runs.items():
            seeds = {task: self._of_seeds(student, task) for task in tasks}
            of_seeds += sum(each * max(0, count - made) for each, made in seeds.values())
            once_more, scored = self._once_more(student, tasks), any(made for _, made in seeds.values())
            before = self._before_tasks(student, frozenset(task for task in tasks if seeds[task][1] < count))
            # the model of the first distillation may be deleted after its scores
            gone = {key for key in once_more if scored and self.jobs.by_key[key].rule.name == DISTILS}
            shared |= {key: taken for key, taken in before.items() if key not in gone}
            for key, (taken, made) in once_more.items():
                shared |= {f"{key}, once more {number}": taken for number in range(made, count)}
        return of_seeds + sum(shared.values())

    def spent(self) -> float:
        """Return the hours of what is made: of each finished job once, and of the seeds that have a score.

        What a score was made from is finished, also if it is deleted.
        """
        shared, of_seeds = dict[str, float](), 0.0
        for student, task in self.pairs:
            each, made = self._of_seeds(student, task)
            of_seeds += each * made
            left = {} if made else self._before(student, task, True)
            shared |= {key: taken for key, taken in self._before(student, task, False).items() if key not in left}
            for key, (taken, many) in self._once_more(student, frozenset([task])).items():
                shared |= {f"{key}, once more {number}": taken for number in range(1, many)}
        return of_seeds + sum(shared.values())

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
        every = ({name: (frozenset([task]), self._of_seeds(name, task)[1])} for name, task in self.pairs)
        return functools.reduce(joined_runs, (each for each in every if next(iter(each.values()))[1]), NONE)

    def _uncached_before_tasks(self, student: str, tasks: frozenset[str]) -> dict[str, float]:
        """Return the hours of the unfinished jobs before the seeds of a student on some tasks, by key."""
        return {key: taken for task in sorted(tasks) for key, taken in self._before(student, task, True).items()}

    def _uncached_before(self, student: str, task: str, left: bool) -> dict[str, float]:
        """Return the hours of the jobs before the seeds of a student on a task, by key; of a teacher, of all.

        Args:
            student: the student or teacher.
            task: the task.
            left: leave out what is done.
        """
        plan, seed = self.plan, seeds_of(self.plan.study, student)[0]
        score = score_file_of_seed(plan.study, student, task, seed)
        job = self.jobs.at(score)
        assert job is not None  # a rule makes each score
        sent = plan.sends and task in plan.settings.predictions and (student, seed) in plan.sent
        of_seeds = student not in plan.study.teachers
        paths = [*(job.inputs if of_seeds else [score])]
        paths += [f"results/answers/{student}/seed-{seed}/{task}.json"] if sent else []
        behind = with_models(self.jobs.behind(paths, stop_at_done=left))
        return {one.key: hours_of([one], self.speed) for one in behind if one is not job or not of_seeds}

    def _uncached_of_seeds(self, student: str, task: str) -> tuple[float, int]:
        """Return the hours of a seed of a student on a task, and how many are made.

        Of a student with distillations, it is all seeds of one, and those of which some are made.
        """
        study = self.plan.study
        made = [_seeds_made(self.found, name, task) for name in trained_anew(self.found, student)]
        each = self.speed.hours(self.jobs.estimates.of_seed(student, task).work) if student in study.students else 0.0
        if has_distillation(study, student):
            return each * len(seeds_of(study, student)), sum(map(bool, made))
        return each, len(made[0])

    def _uncached_once_more(self, student: str, tasks: frozenset[str]) -> dict[str, tuple[float, int]]:
        """Return the jobs that each distillation of a student has for itself, before its fine-tunings, by key.

        Each has its hours, and the number of distillations for which it is done, the first one in any case. What a
        score was made from is done, also if it is deleted.
        """
        if not has_distillation(self.plan.study, student):
            return {}
        jobs, names = self.jobs.by_key, {*start_lineage(self.plan.study, student)}
        found = dict[str, tuple[float, int]]()
        for task in sorted(tasks):
            scored = self._of_seeds(student, task)[1]
            for key, taken in self._before(student, task, False).items():
                of = set(vars(jobs[key].wildcards).values())
                if jobs[key].rule.name == DISTILS:  # a finished student remembers its group, which is not made again
                    of = names.intersection(students_in(self.plan, jobs[key].wildcards.group))
                    taken = sum(self.speed.hours(self.jobs.estimates.of(DISTILS, group=name).work) for name in of)
                if jobs[key].rule.name in OF_A_DISTILLATION and (own := names & of):
                    before = 1 if task in of else self._distilled(*own)
                    found[key] = taken, max(scored, before, found.get(key, (0.0, 0))[1])
        return found

    def _distilled(self, student: str) -> int:
        """Count the first distillation of a student on a corpus, and the further ones whose models are there."""
        _, *further = trained_anew(self.found, student)
        models = [name for name in further if Path("results/students", name, "model").is_dir()]
        settings = {name: resolve.corpus_distillation(self.found, name) for name in models}
        return 1 + sum(student_is_made(name, own, ()) for name, own in settings.items())


def _with_what_is_found(study: Study) -> Study:
    """Return a copy of a study with the further distillations of which there is a folder, and no others."""
    found = study.copied()
    found.distillations = {}
    for student in filter(functools.partial(has_distillation, study), study.running):
        begin = further_name(student, "")
        folders = [path for room in ("students", "scores") for path in Path("results", room).glob(f"{begin}*")]
        seeds = {path.name.removeprefix(begin) for path in folders if path.name not in study.keys}
        found.distillations[student] = {int(seed): begin + seed for seed in sorted(seeds) if seed.isdecimal()}
    every = [(student, seed) for student, seeds in found.distillations.items() for seed in seeds]
    list(enter_further(found, every))  # a name that is taken is told where the budget is read
    return found


def _seeds_made(study: Study, student: str, task: str) -> set[int]:
    """Return the seeds of a student on a task that have a score with the settings of the study."""
    folder = score_folder(student, task)
    files = [path for path in folder.iterdir() if SCORE_FILE.fullmatch(path.name)] if folder.is_dir() else []
    settings, seeds = resolve.score(study, student, task).as_json() if files else {}, set[int]()
    for path in files:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # one that is damaged is made anew
            records = json.loads(path.read_text(encoding="utf-8"))
            seeds |= {one["seed"] for one in records if first_difference(one["settings"], settings) is None}
    return seeds
