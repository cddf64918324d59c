"""The paths of scores, answers and profiles, and how the seeds of a student on a task are divided among jobs.

One job trains several seeds and writes one file of scores, which is named after them: '11-12-13.json'.
"""

from __future__ import annotations

import re
from pathlib import Path

from retort.study.questions import seeds_of
from retort.study.study import Study

SEEDS = r"\d+(-\d+)*"  # a regular expression of the seeds of a job, as paths have them
SCORE_FILE = re.compile(rf"({SEEDS})\.json")


def name_of_seeds(seeds: list[int]) -> str:
    """Return how paths name the seeds of a job: '11-12-13'."""
    return "-".join(map(str, seeds))


def seeds_in(name: str) -> list[int]:
    """Return the seeds of a job from their name in a path."""
    return [int(seed) for seed in name.split("-")]


def score_folder(student: str, task: str) -> Path:
    """Return the folder with the scores of a student or teacher on a task."""
    return Path("results/scores") / student / task


def score_file(student: str, task: str, seeds: str) -> str:
    """Return the path of the scores that one job writes, the same for task-specific and task-agnostic distillation."""
    return f"results/scores/{student}/{task}/{seeds}.json"


def names_of_seeds(study: Study, student: str, task: str) -> list[str]:
    """Return the seeds of each job of a student or teacher on a task: ['11-12', '13'].

    The run has decided which seeds share a job. Outside a run, the files that exist tell it.
    """
    seeds, decided = seeds_of(study, student), study.config.seeds_divided
    if decided is None:
        return names_in_files(student, task, seeds) or [name_of_seeds(seeds)]
    return decided.get(f"{student}/{task}") or [name_of_seeds(seeds)]


def names_in_files(student: str, task: str, seeds: list[int]) -> list[str]:
    """Return how existing files of scores divide these seeds; empty if they do not hold each seed.

    Files of an earlier division may lie next to them: the files of most seeds count.
    """
    folder = score_folder(student, task)
    found = (SCORE_FILE.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    names, held = list[str](), set[int]()
    for name in sorted((match[1] for match in found if match), key=lambda name: (-name.count("-"), name)):
        own = set(seeds_in(name))
        if own <= set(seeds) - held:
            names.append(name)
            held |= own
    return sorted(names, key=seeds_in) if held == set(seeds) else []


def score_files(study: Study, student: str, task: str) -> list[str]:
    """Return the paths of all scores of a student or teacher on a task."""
    return [score_file(student, task, name) for name in names_of_seeds(study, student, task)]


def score_file_of_seed(study: Study, student: str, task: str, seed: int) -> str:
    """Return the path of the file that holds the score of one seed.

    Raises:
        StopIteration: the student is not scored under this seed.
    """
    names = names_of_seeds(study, student, task)
    return score_file(student, task, next(name for name in names if seed in seeds_in(name)))


def seed_address(student: str, task: str, seed: int) -> str:
    """Return the path after which the checkpoints of one seed, and what is kept of it, are named."""
    return f"results/scores/{student}/{task}/seed-{seed}.json"


def answers_address(scores: str) -> str:
    """Return the path of the answers that scores were computed from, a file next to that of the scores."""
    return scores.removesuffix(".json") + ".answers.json"


def profile_address(student: str) -> str:
    """Return the path of the profile of a student or teacher."""
    return f"results/profiles/{student}.json"


def submission_address(study: Study, student: str) -> str:
    """Return the path of the zip that the server takes for a student or teacher; it is made from the first seed."""
    return f"reports/submissions/{student}/seed-{seeds_of(study, student)[0]}.zip"


def students_of_activations(folder: Path) -> Path:
    """Return the file in a folder of stored activations that holds, by student, the settings of those that read it."""
    return folder / "students.json"
