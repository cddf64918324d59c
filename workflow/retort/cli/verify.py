"""The verb `verify`, which compares finished results with the checksums that were taken when they were made."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from retort import checksums
from retort.checksums import KINDS, KNOWN, REMEDY, RESULTS, Checksums, files_of, is_place
from retort.cli.base import argument, config_of, verb
from retort.cli.repairing import repair
from retort.errors import RetortError
from retort.plan import resolve
from retort.results.collect import read_scores
from retort.results.lineage import Difference, Labels, damage, differences_of_parents
from retort.study.load import open_study, with_every_paper

NOTES = (Path("results/sources"), KNOWN)  # fetched files, and notes on the user's folders: no results of jobs


@verb(
    "verify",
    argument("path", nargs="*", help="files or folders of results (default: all of results/)"),
    argument("--repair", action="store_true", help="delete what differs and all that was made from it"),
)
def verify(arguments: argparse.Namespace) -> int:
    """Compare finished results with the checksums of their making and with their parents; repair those that differ."""
    paths = [Path(path) for path in arguments.path] or [RESULTS / name for name in KINDS]
    for path in map(Path, arguments.path):
        if not path.exists():
            raise RetortError(f"{path} does not exist", "paths count from the working directory")
        if not path.resolve().is_relative_to(RESULTS.resolve()):
            raise RetortError(f"{path} does not lie in results/", "give a folder or a file of it, or no path for all")
    results = list(dict.fromkeys(result for path in paths for result in results_below(path)))
    with ThreadPoolExecutor(max_workers=4) as pool:  # hashing releases the GIL
        compared = dict(zip(results, pool.map(compare, results), strict=True))
    known = {path: taken for path, (taken, _) in compared.items() if taken and path.exists()}
    found = [difference for _, differences in compared.values() for difference in differences]
    covered = {str(path) for result in results for _, path in files_of(result)}
    found += [
        damage(f"{path} has no checksum: no job has made it; {REMEDY}", path) for path in uncovered(paths, covered)
    ]
    found += differences_of_parents(known)
    found += check_scores(arguments, [result for result in results if result.match("seed-*.json")])
    found = list({difference.line: difference for difference in found}.values())
    for difference in found:
        print(difference.line)
    if not (results or found):
        print(f"nothing to verify: {', '.join(arguments.path) or 'results'} holds no results; `make run` makes them")
        return 0
    files = [file for taken in known.values() for file in taken.files.values()]
    size = sum(file.bytes for file in files) / 1e6
    print(f"{len(files):,} files, {size:,.1f} MB: {f'{len(found)} differences' if found else 'all as they were made'}")
    return repair(arguments, found) if found and arguments.repair else int(bool(found))


def results_below(path: Path) -> Iterator[Path]:
    """Yield each result with checksums that is at a path, below it, or above it."""
    if path.is_dir():
        yield from (checksums.result_of(place) for place in sorted(path.rglob(f"*{checksums.NAME}")) if is_place(place))
    for above in (path, *path.parents):
        if checksums.place_of(above).is_file():
            yield above


def compare(path: Path) -> tuple[Checksums | None, list[Difference]]:
    """Return the checksums of a result, and its differences from them; a file that was added later is one."""
    if not path.exists():
        return None, [damage(f"{path} is missing; {REMEDY}", path)]
    try:
        known = checksums.read(path)
    except RetortError as error:
        return None, [damage(str(error), path)]
    if known is None:
        return None, [damage(f"{path} is a folder, and a file belongs there; {REMEDY}", path)]
    changed = [damage(f"{line}; {REMEDY}", path) for line in checksums.differences(path, known, thorough=True)]
    added = [file for name, file in files_of(path) if path.is_dir() and name not in known.files]
    return known, changed + [damage(f"{file} was added after {path} was made; {REMEDY}", file) for file in added]


def uncovered(paths: Iterable[Path], covered: set[str]) -> list[Path]:
    """Return the files of results that no checksum covers."""
    files = (file for path in paths for _, file in files_of(path) if path.exists())
    return [
        file
        for file in files
        if not (str(file) in covered or is_place(file) or file.name.endswith(".part") or file.parent in NOTES)
    ]


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
