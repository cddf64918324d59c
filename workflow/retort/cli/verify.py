"""The verb `verify`, which compares finished results with the checksums that were taken when they were made."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from retort.checksums import REPORTS, RESULTS
from retort.cli.base import argument, config_of, verb
from retort.cli.repairing import repair
from retort.errors import RetortError
from retort.plan import resolve
from retort.results.collect import read_scores
from retort.results.verification import EVERYTHING, Difference, Labels, note
from retort.results.verification import verify as check
from retort.study.load import open_study, with_every_paper


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
    known, found = check(paths)
    found += check_scores(arguments, [result for result in known if result.match("seed-*.json")])
    found = list({difference.line: difference for difference in found}.values())
    for difference in found:
        print(difference.line)
    if not (known or found):
        print(f"nothing to verify: {', '.join(arguments.path) or 'results'} holds no results; `make run` makes them")
        return 0
    if paths == EVERYTHING:
        note("every file", len(known), len(found))
    files = [file for taken in known.values() for file in taken.files.values()]
    size = sum(file.bytes for file in files) / 1e6
    print(f"{len(files):,} files, {size:,.1f} MB: {f'{len(found)} differences' if found else 'all as they were made'}")
    return repair(arguments, found) if found and arguments.repair else int(bool(found))


def check_scores(arguments: argparse.Namespace, scores: Iterable[Path]) -> Iterator[Difference]:
    """Yield a difference for each score of the study with other settings, answers or labels than it should have."""
    study, labels = open_study(with_every_paper(config_of(arguments))), Labels()
    for path in scores:
        student, task = path.parent.parent.name, path.parent.name
        known = task in study.tasks and (student in study.students or student in study.teachers)
        if not known or path.name.endswith(".answers.json") or not path.exists():
            continue
        try:
            read_scores(study, [path])
            labels.check(path, resolve.score(study, student, task).task)
        except RetortError as error:
            yield Difference(str(error), (path,), ())
