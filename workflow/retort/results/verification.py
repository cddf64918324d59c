"""Compare results with the checksums that were taken when they were made, and with what they were made from."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from retort import checksums
from retort.atomic import write_json
from retort.checksums import KINDS, REMEDY, REPORTS, RESULTS, Checksums, canonical_bytes, files_of, is_place
from retort.errors import RetortError
from retort.results.score_files import answers_of, read_score_file
from retort.settings.folder_digests import KNOWN
from retort.settings.inputs import TaskSettings
from retort.tasks.answers import truth_of

NOTES = (Path("results/sources"), KNOWN)  # fetched files, and notes on the user's folders: no results of jobs
EVERYTHING = [*(RESULTS / kind for kind in KINDS), REPORTS]
VERIFIED = RESULTS / "verified.json"  # when and how results were verified last
SHOWN = 10  # lines, at the start of a run


@dataclass(frozen=True)
class Difference:
    """A way in which results are not as they should be.

    Args:
        line: what it is, in a line.
        path: the file or folder that it is about.
        anew: the files and folders that are to be made anew.
        otherwise: what is deleted instead if the path belongs to no job of the plan.
    """

    line: str
    path: Path
    anew: tuple[Path, ...]
    otherwise: tuple[Path, ...]


def damage(line: str, path: Path) -> Difference:
    """Return the difference of a damaged, missing or added file or folder, which no plan needs as it is."""
    return Difference(line, path, (path,), (path,))


def difference_of(error: RetortError, path: Path) -> Difference:
    """Return the difference of a result that an error tells; for a link that leads nowhere, nothing is made anew."""
    return (
        Difference(str(error), path, (), ()) if isinstance(error, checksums.LeadsNowhere) else damage(str(error), path)
    )


def verify(paths: Iterable[Path], thorough: bool = True) -> tuple[dict[Path, Checksums], list[Difference]]:
    """Return the results with checksums at some paths, and how they differ from these and from their parents.

    Args:
        paths: files and folders of results.
        thorough: whether every file is read.
    """
    paths = list(paths)
    results = list(dict.fromkeys(result for path in paths for result in results_below(path)))
    with ThreadPoolExecutor(max_workers=4) as pool:  # hashing releases the GIL
        compared = dict(zip(results, pool.map(lambda path: compare(path, thorough), results), strict=True))
    known = {path: taken for path, (taken, _) in compared.items() if taken and path.exists()}
    found = [difference for _, differences in compared.values() for difference in differences]
    covered = {str(path) for result in results for _, path in files_of(result)}
    found += [
        damage(f"{path} has no checksum: no job has made it; {REMEDY}", path) for path in uncovered(paths, covered)
    ]
    return known, [*found, *differences_of_parents(known)]


def note(how: str, differences: Iterable[Difference]) -> None:
    """Note when and how all results were verified, and which of them differ, for the foot of pages."""
    when, differing = time.strftime("%Y-%m-%d %H:%M", time.gmtime()), sorted({str(each.path) for each in differences})
    write_json(VERIFIED, {"when": when, "how": how, "differing": differing})


def when_verified(paths: Set[str], newest: str) -> str:
    """Return a sentence on when some results were verified; empty for no results.

    Args:
        paths: their files.
        newest: when the newest of them was made, in UTC.
    """
    if not paths:
        return ""
    noted = json.loads(VERIFIED.read_text(encoding="utf-8")) if VERIFIED.is_file() else {"when": ""}
    if noted["when"] < newest[:16].replace("T", " "):
        return "The results of this page were not verified since the newest was made; `retort verify` does so."
    count = len(paths & set(noted["differing"]))
    found = f"{count or 'no'} difference{'s' if count != 1 else ''} in {len(paths)} files"
    return f"The results of this page were verified {noted['when']} UTC ({noted['how']}): {found}."


def verify_at_start(at_work: Set[str] = frozenset()) -> None:
    """Verify sizes, seals and parents of all results before a run, and print how they differ.

    A run that was stopped leaves such results, too, and the next one makes them anew; so they stop no run.

    Args:
        at_work: what other runs make just now; it may be half made.
    """
    known, every = verify(EVERYTHING, thorough=False)
    found = [each for each in every if at_work.isdisjoint(map(str, (each.path, *each.path.parents)))]
    lines = list(dict.fromkeys(difference.line.removesuffix(f"; {REMEDY}") for difference in found))
    if known:
        note("sizes, small files and parents, at the start of a run", found)
    if lines:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN:,} more, see `retort verify`"] if len(lines) > SHOWN else []
        what = "results are not as they were made; what this run does not make anew, `retort verify --repair` deletes:"
        print(what, *(f"  {line}" for line in lines), sep="\n", file=sys.stderr, flush=True)


def results_below(path: Path) -> Iterator[Path]:
    """Yield each result with checksums that is at a path, below it, or above it."""
    yield from checksums.results_in(path)
    for above in (path, *path.parents):
        if checksums.place_of(above).is_file():
            yield above


def compare(path: Path, thorough: bool = True) -> tuple[Checksums | None, list[Difference]]:
    """Return the checksums of a result, and its differences from them; a file that was added later is one.

    Args:
        path: the result.
        thorough: True to read every file; False to read large ones only if their size or time has changed.
    """
    if not path.exists():
        missing = checksums.LeadsNowhere(path) if path.is_symlink() else RetortError(f"{path} is missing", REMEDY)
        return None, [difference_of(missing, path)]
    try:
        known = checksums.read(path)
    except RetortError as error:
        return None, [damage(str(error), path)]
    if known is None:
        return None, [damage(f"{path} is a folder, and a file belongs there; {REMEDY}", path)]
    changed = [difference_of(error, path) for error in checksums.differences(path, known, thorough)]
    added = [file for name, file in files_of(path) if path.is_dir() and name not in known.files]
    return known, changed + [damage(f"{file} was added after {path} was made; {REMEDY}", file) for file in added]


def uncovered(paths: Iterable[Path], covered: set[str]) -> list[Path]:
    """Return the files of results that no checksum covers."""
    places = [path for path in paths if path.exists() and not path.is_relative_to(REPORTS)]
    files = (file for path in places for _, file in files_of(path))
    return [
        file
        for file in files
        if not (str(file) in covered or is_place(file) or file.name.endswith(".part") or file.parent in NOTES)
    ]


# --- what results were made from


def differences_of_parents(results: Mapping[Path, Checksums]) -> Iterator[Difference]:
    """Yield a difference for each parent that is missing or another than when a result was made from it.

    Args:
        results: the results whose files exist, with the checksums of their making.
    """
    now = functools.cache(checksums.whole)  # without checksums, another check tells of that
    missing: dict[Path, list[Path]] = {}
    for path, known in results.items():
        for parent, recorded in ((Path(name), each.sha256) for name, each in known.parents.items()):
            if parent.is_symlink() and not parent.exists():
                yield difference_of(checksums.LeadsNowhere(parent), parent)
            elif not parent.exists() or checksums.is_emptied(parent):
                if not checksums.is_temporary(parent):
                    missing.setdefault(parent, []).append(path)
            elif (found := now(parent)) and found.digest != recorded:
                yield Difference(f"{path} was made from another {parent}; {REMEDY}", path, (path, parent), (path,))
    for parent, made in missing.items():
        more = f" and {len(made) - 1:,} more" if len(made) > 1 else ""
        line = f"{parent} is missing, from which {made[0]}{more} {'were' if more else 'was'} made; {REMEDY}"
        yield damage(line, parent)


def check_labels(scores: Path, task: TaskSettings, known: dict[tuple[Path, str], bytes]) -> None:
    """Compare the true answers next to scores with the labels of the encoded task that they were measured on.

    Args:
        scores: the file of the scores, which agree with the answers next to it.
        task: the settings of its task.
        known: the labels of (folder of the encoded task, split) that were read before; those read now are added.

    Raises:
        RetortError: they differ.
    """
    for record in read_score_file(scores):
        parents = map(Path, record.get("parents", {}))
        for folder in (path for path in parents if path.match("results/encoded/*/*") and path.exists()):
            for split, answers in answers_of(scores, record).items():
                if (folder, split) not in known:
                    known[folder, split] = canonical_bytes(truth_of(folder, split, task))
                if canonical_bytes(answers["truth"]) != known[folder, split]:
                    line = f"{scores}: the true answers on '{split}' are not the labels in {folder}"
                    raise RetortError(line, REMEDY)
