"""The verb `verify`, which compares finished results with the checksums that were taken when they were made."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from retort import checksums
from retort.checksums import KINDS, KNOWN, RESULTS, FileChecksum, files_of, is_place, remedy
from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.results.collect import read_scores
from retort.study.load import open_study, with_every_paper

NOTES = (Path("results/sources"), KNOWN)  # fetched files, and notes on the user's folders: no results of jobs


@verb("verify", argument("path", nargs="*", help="files or folders of results (default: all of results/)"))
def verify(arguments: argparse.Namespace) -> int:
    """Compare finished results with the checksums of their making, and tell how to heal those that differ."""
    paths = [Path(path) for path in arguments.path] or [RESULTS / name for name in KINDS]
    for path in map(Path, arguments.path):
        if not path.exists():
            raise RetortError(f"{path} does not exist", "paths count from the working directory")
        if not path.resolve().is_relative_to(RESULTS.resolve()):
            raise RetortError(f"{path} does not lie in results/", "give a folder or a file of it, or no path for all")
    results = list(dict.fromkeys(result for path in paths for result in results_below(path)))
    with ThreadPoolExecutor(max_workers=4) as pool:  # hashing releases the GIL
        compared = list(pool.map(compare, results))
    files = [file for known, _ in compared for file in known]
    lines = [line for _, differences in compared for line in differences]
    covered = {str(path) for result in results for _, path in files_of(result)}
    lines += [f"{path} has no checksum: no job has made it; delete it" for path in uncovered(paths, covered)]
    lines += check_scores(arguments, [result for result in results if result.match("seed-*.json")])
    for line in dict.fromkeys(lines):
        print(line)
    size = sum(file.bytes for file in files) / 1e6
    print(f"{len(files):,} files, {size:,.1f} MB: {f'{len(lines)} differences' if lines else 'all as they were made'}")
    return int(bool(lines))


def results_below(path: Path) -> Iterator[Path]:
    """Yield each result with checksums that is at a path, below it, or above it."""
    if path.is_dir():
        yield from (checksums.result_of(place) for place in sorted(path.rglob(f"*{checksums.NAME}")) if is_place(place))
    for above in (path, *path.parents):
        if checksums.place_of(above).is_file():
            yield above


def compare(path: Path) -> tuple[list[FileChecksum], list[str]]:
    """Return the checksums of a result, and a line for each difference; a file that was added later is one.

    A result that is a single file may be deleted: the next run makes it again.
    """
    if not path.exists():
        return [], []
    try:
        known = checksums.read(path)
    except RetortError as error:
        return [], [str(error)]
    if known is None:
        return [], [f"{path} is a folder, and a file belongs there; {remedy(path)}"]
    lines = [f"{line}; {remedy(path)}" for line in checksums.differences(path, known, thorough=True)]
    added = [file for name, file in files_of(path) if path.is_dir() and name not in known.files]
    return list(known.files.values()), lines + [f"{file} was added after {path} was made; delete it" for file in added]


def uncovered(paths: Iterable[Path], covered: set[str]) -> list[Path]:
    """Return the files of results that no checksum covers."""
    files = (file for path in paths for _, file in files_of(path) if path.exists())
    return [
        file
        for file in files
        if not (str(file) in covered or is_place(file) or file.name.endswith(".part") or file.parent in NOTES)
    ]


def check_scores(arguments: argparse.Namespace, scores: Iterable[Path]) -> list[str]:
    """Return a line for each score of the study that contradicts its answers or has other settings."""
    study, lines = open_study(with_every_paper(config_of(arguments))), []
    for path in scores:
        student, task = path.parent.parent.name, path.parent.name
        known = task in study.tasks and (student in study.students or student in study.teachers)
        if not known or path.name.endswith(".answers.json"):
            continue
        try:
            read_scores(study, [path])
        except RetortError as error:
            lines.append(str(error))
    return lines
