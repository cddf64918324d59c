"""The inventory that `retort check --data` prints: where all sources are, and whether rows can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from retort.checksums import sha256
from retort.data.splits import SplitReader, SplitRows, paths_of, read_task
from retort.data.training_rows import rows_of_file
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.specs.source import FolderSource, HubSource
from retort.study.cells import required
from retort.study.study import Study
from retort.tasks import task_type_of

Found = tuple[str, bool]  # a line of the inventory, and whether it is free of problems
Check = tuple[str, Callable[[], Iterator[Found]]]  # a source, and what checks files of it
NOUNS = {"tasks": "", "training_rows": "training rows ", "models": "model ", "corpora": "corpus "}


def folder_of(study: Study, source: str) -> Path:
    """Return the folder that holds the files of a source, or will hold them once they are fetched."""
    spec = study.sources[source].in_use(study.config)
    return Path(spec.path).expanduser() if isinstance(spec, FolderSource) else Path("results/sources") / source


def _count_rows(rows: SplitRows) -> str:
    text = f"{len(rows.records):,} rows"
    text += f" of {rows.sample[1]:,} (a sample)" if rows.sample else ""
    return text + ("" if rows.labelled else ", no labels")


def _check_split(study: Study, name: str, split: str) -> Iterator[Found]:
    """Yield a line for each file of a split."""
    spec = study.tasks[name]
    needed = split in spec.used
    try:
        task = resolve_data.task(study, name, [split])
    except RetortError as error:
        yield f"  {split}: {error}", not needed
        return
    settings = (task.splits or {})[split]
    for encoded_split, file in settings.files.items():
        try:
            paths = paths_of(folder_of(study, settings.source), file)
            rows = SplitReader(task, task_type_of(task), settings, paths).read(file.rows)
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield f"  {encoded_split}: {paths[0]}{more}  {_count_rows(rows)}  sha256 {rows.sha256}", True
            yield from ((f"    {note}", True) for note in rows.notes)
        except RetortError as error:
            yield f"  {encoded_split}: {error}" + ("" if needed else " (only a submission needs it)"), not needed


def _check_drawn_splits(study: Study, name: str) -> Iterator[Found]:
    """Yield a line for a task whose splits are drawn from one file."""
    spec = study.tasks[name]
    assert spec.reader is not None
    folder, task = folder_of(study, spec.source), resolve_data.task(study, name)
    try:
        splits = list(read_task(task, task_type_of(task), {spec.source: folder}))
        path = folder / str(spec.reader.options["file"])
        counts = ", ".join(f"{_count_rows(rows)} {split}" for split, rows in splits)
        yield f"  {path}  drawn: {counts}  sha256 {sha256(path)}", True
    except RetortError as error:
        yield f"  {error}", False


def _of_task(study: Study, name: str) -> list[Check]:
    spec = study.tasks[name]
    if not spec.splits:
        return [(spec.source, partial(_check_drawn_splits, study, name))]
    splits = spec.splits.items()
    return [(files.source or spec.source, partial(_check_split, study, name, split)) for split, files in splits]


def _check_row_set(study: Study, name: str, task_name: str) -> Iterator[Found]:
    """Yield a line for the file of a set of training rows for a task."""
    spec, train = study.training_rows[name], study.tasks[task_name].train_split
    (source,) = spec.sources
    folder = folder_of(study, source)
    try:
        task, settings = resolve_data.task(study, task_name, [train]), resolve_data.row_set(study, name, task_name)
        rows = rows_of_file(settings, task, task_type_of(task), {source: folder})
        yield f"  {task_name}: {folder / spec.files[task_name].file}  {_count_rows(rows)}  sha256 {rows.sha256}", True
    except RetortError as error:
        yield f"  {task_name}: {error}", False


def _of_row_set(study: Study, name: str) -> list[Check]:
    spec = study.training_rows[name]
    return [(source, partial(_check_row_set, study, name, task)) for source in spec.sources for task in spec.files]


CHECKS = {"tasks": _of_task, "training_rows": _of_row_set}  # folder -> the checks of an entry


def _unfetched(study: Study, source: str) -> str | None:
    """Return a line if a run will fetch a source; None for a folder of the user, or if it is fetched already."""
    spec, folder = study.sources[source].in_use(study.config), folder_of(study, source)
    if isinstance(spec, FolderSource) or folder.is_dir():
        return None
    what = spec.place(study.config)
    if isinstance(spec, HubSource):
        what = f"{spec.hub.repository} of the hub at {spec.hub.commit or 'a commit that `retort pin` has to find'}"
    return f"  {folder}: not fetched yet: {what}"


def _check(study: Study, checks: list[Check]) -> Iterator[Found]:
    """Yield a line for each source that is not fetched yet, and the lines of the checks of the others."""
    unfetched = {source: _unfetched(study, source) for source, _ in checks}
    yield from ((line, True) for line in unfetched.values() if line)
    for source, check in checks:
        if not unfetched[source]:
            yield from check()


def inventory(study: Study) -> tuple[list[str], bool]:
    """Return the lines of the inventory, and whether all files of rows that tables need can be read.

    There is a line for each task, set of training rows, model and corpus, and one for each file of rows. A source that
    is not fetched yet counts as present.
    """
    lines, whole, read = [], True, required(study)
    for folder, noun in NOUNS.items():
        for name, spec in getattr(study, folder).items():
            sources = [spec.source] if folder == "models" else sorted(spec.sources)
            places = ", ".join(f"{source}: {study.sources[source].place(study.config)}" for source in sources)
            needed = f"{folder}/{name}" in read
            lines.append(f"{noun}{name} ({places}){'' if needed else ', which no table reads'}")
            for line, fine in _check(study, CHECKS[folder](study, name)) if folder in CHECKS else ():
                lines.append(line)
                whole = whole and (fine or not needed)
    return lines, whole


def report(study: Study) -> int:
    """Print the inventory and return the exit status: 1 if a file that a table needs is missing, else 0."""
    lines, whole = inventory(study)
    print("\n".join(lines))
    return 0 if whole else 1
