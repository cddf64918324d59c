"""The verb `verify`: compare finished results with the checksums of their making, and repair those that differ.

What differs is deleted with all that was made from it, and the next run makes it anew. It is not enough to delete a
damaged file: Snakemake does not miss a file while everything that it was read for exists.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from retort import checksums
from retort.checksums import REPORTS, RESULTS, place_of
from retort.cli.base import argument, config_of, verb
from retort.cost.jobs import Job, Jobs
from retort.data.sources.fetch import link_moved_folders
from retort.errors import RetortError, explain_error, first_line
from retort.job.attempts import KEPT, checkpoints_of
from retort.plan import resolve
from retort.plan.plan import Plan
from retort.results.collect import read_scores
from retort.results.verification import EVERYTHING, Difference, check_labels, note
from retort.results.verification import verify as check
from retort.run.run_folder import others_at_work
from retort.run.workflow import everything, mark_scale
from retort.study.addresses import SCORE_FILE, seed_address, seeds_in
from retort.study.load import open_study, with_every_paper
from retort.study.study import Study

SCORES = "results/scores/*/*/*.json"
Edges = Mapping[str, Iterable[str]]


@verb(
    "verify",
    argument("path", nargs="*", help="files or folders (default: all of results/ and reports/)"),
    argument("--repair", action="store_true", help="delete what differs and all that was made from it"),
)
def verify(arguments: argparse.Namespace) -> int:
    """Compare finished results with the checksums of their making and with their parents; repair those that differ."""
    paths = [Path(path) for path in arguments.path] or EVERYTHING
    for path in map(Path, arguments.path):
        if not path.exists():
            raise RetortError(f"{path} does not exist", "paths count from the working directory")
        if not any(path.resolve().is_relative_to(top.resolve()) for top in (RESULTS, REPORTS)):
            raise RetortError(f"{path} does not lie in results/ or reports/", "give a path in them, or none for all")
    study = open_study(with_every_paper(config_of(arguments)))
    with contextlib.suppress(OSError):  # a folder that may only be read can be verified, too
        link_moved_folders(study)
    known, found = check(paths)
    found += check_scores(study, [result for result in known if result.match(SCORES)])
    found = list({difference.line: difference for difference in found}.values())
    for difference in found:
        print(difference.line)
    if not (known or found):
        print(f"nothing to verify: {', '.join(arguments.path) or 'results'} holds no results; `make run` makes them")
        return 0
    files = [file for taken in known.values() for file in taken.files.values()]
    size = sum(file.bytes for file in files) / 1e6
    unknown = [result for result in known if result.match(SCORES) and not is_known(study, result)]
    other = f"; {len(unknown)} of no student here, so not compared with settings: give --config of their run"
    differ = f"{len(found)} differences" if found else "all as they were made"
    print(f"{len(files):,} files, {size:,.1f} MB: {differ}{other * bool(unknown)}")
    if paths == EVERYTHING:
        try:
            note("every file", found)
        except OSError as error:
            print(f"not noted for the foot of pages: {explain_error(error) or first_line(error)}")
    return repair(arguments, found) if found and arguments.repair else int(bool(found))


def is_known(study: Study, scores: Path) -> bool:
    """Return whether a file of scores is of a student or teacher, and of a task, of a study."""
    student, task = scores.parent.parent.name, scores.parent.name
    return task in study.tasks and (student in study.students or student in study.teachers)


def check_scores(study: Study, scores: Iterable[Path]) -> Iterator[Difference]:
    """Yield a difference for each score of a study with other settings, answers or labels than it should have."""
    known: dict[tuple[Path, str], bytes] = {}
    for path in scores:
        student, task = path.parent.parent.name, path.parent.name
        if not is_known(study, path) or path.name.endswith(".answers.json") or not path.exists():
            continue
        try:
            read_scores(study, [path])
            check_labels(path, resolve.score(study, student, task).task, known)
        except RetortError as error:
            yield Difference(str(error), path, (path,), ())


# --- repair


def repair(arguments: argparse.Namespace, found: Iterable[Difference]) -> int:
    """Delete what differs and all that was made from it, and print the command that makes it anew.

    Raises:
        RetortError: a run is at work, or the results are of another scale than the configuration's.
    """
    for who, *_ in others_at_work():
        raise RetortError(f"a run is at work here: {who}", "wait for its end")
    plan = Plan(config_of(arguments))
    mark_scale(plan.study)
    jobs = list(Jobs(plan).behind(everything(plan.study)))
    planned = {path for job in jobs for path in job.outputs}
    differing = set[str]()
    for difference in found:
        chosen = difference.anew if result_of(difference.path, planned) in planned else difference.otherwise
        differing |= {result_of(path, planned) for path in chosen}
    made = made_from(jobs)
    wrong = reached(differing, made)
    nearby = {path: job.outputs for job in jobs for path in job.outputs}
    anew = reached(differing, {path: [*made.get(path, ()), *nearby.get(path, ())] for path in {*made, *nearby}})
    if not anew:  # there are links that lead nowhere, and nothing else
        return 1
    for path in sorted(anew):
        if delete(Path(path)):
            print(f"deleted: {path}")
    for path in wrong:  # what goes on from them, or is restored, would be as wrong
        for checkpoints in map(checkpoints_of, trainings_of(Path(path))):
            shutil.rmtree(checkpoints, ignore_errors=True)
            shutil.rmtree(KEPT / checkpoints.name, ignore_errors=True)
    file = f" --configfile {shlex.quote(arguments.config)}" if arguments.config else ""
    print(f"now run as before, such as: snakemake --cores all{file}")
    return 0


def trainings_of(path: Path) -> list[str]:
    """Return the paths by which the trainings behind a result are known: those of its seeds, or its own."""
    scores = SCORE_FILE.fullmatch(path.name) if path.match("results/scores/*/*/*") else None
    student, task = path.parent.parent.name, path.parent.name
    return [seed_address(student, task, seed) for seed in seeds_in(scores[1])] if scores else [str(path)]


def result_of(path: Path, planned: set[str]) -> str:
    """Return the output of the plan in which a file without checksums lies; else the path itself."""
    above = (each for each in (path, *path.parents) if str(each) in planned and not place_of(each).is_file())
    return str(next(above, path))


def made_from(jobs: Iterable[Job]) -> dict[str, set[str]]:
    """Return path -> what is made from it: by the jobs of the plan, and as the checksums of results say."""
    made: dict[str, set[str]] = {}
    for job in jobs:
        for parent in job.inputs:
            made.setdefault(parent, set()).update(job.outputs)
    for result in (result for top in EVERYTHING for result in checksums.results_in(top)):
        known = checksums.whole(result)  # a damaged one differs itself
        for parent in known.parents if known else ():
            made.setdefault(parent, set()).add(str(result))
    return made


def reached(start: Iterable[str], edges: Edges) -> set[str]:
    """Return some paths and all that the edges lead to."""
    seen, ahead = set[str](), list(start)
    while ahead:
        if (path := ahead.pop()) not in seen:
            seen.add(path)
            ahead += edges.get(path, ())
    return seen


def delete(path: Path) -> bool:
    """Delete a result and its checksums; return whether there was anything. What a link leads to is kept.

    Nothing outside of results/ and reports/ is deleted.
    """
    folder, was_there = path.parent.resolve(), False
    if any(folder.is_relative_to(Path(name).resolve()) for name in ("results", "reports")):
        nearby = path.with_name(f".{path.name}{checksums.NAME}")  # also where a folder has replaced a file
        for each in (path, nearby):  # the checksums of a folder lie in it
            was_there |= each.is_symlink() or each.exists()
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)
    return was_there
