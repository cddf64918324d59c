"""The inventory that `retort check --data` prints: each task's files, and whether they are what its YAML says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from retort.data.files import sha256
from retort.data.splits import SplitReader, SplitRows, paths_of, read_task
from retort.errors import RetortError
from retort.plan import resolve
from retort.specs.source import FolderSource, HubSource
from retort.study.required_sources import tasks
from retort.study.study import Study
from retort.tasks import task_type_of


def folder_of(study: Study, source: str) -> Path:
    """Return the folder that holds the files of a source, or will hold them once they are fetched."""
    spec = study.sources[source].in_use(study.config)
    return Path(spec.path) if isinstance(spec, FolderSource) else Path("results/sources") / source


def _counted(rows: SplitRows) -> str:
    text = f"{len(rows.records):,} rows"
    text += f" of {rows.sample[1]:,} (a sample)" if rows.sample else ""
    return text + ("" if rows.labelled else ", no labels")


def _unfetched(study: Study, source: str) -> str | None:
    """Say what will be fetched for a source; None if it is a folder of the user's or was fetched already."""
    spec = study.sources[source].in_use(study.config)
    if isinstance(spec, FolderSource) or folder_of(study, source).is_dir():
        return None
    if isinstance(spec, HubSource):
        return f"{spec.hub.repository} of the hub at {spec.hub.commit or 'a commit that `retort pin` has to find'}"
    return spec.place(study.config)


def _filed(study: Study, name: str, split: str) -> Iterator[tuple[str, bool]]:
    spec = study.tasks[name]
    needed = split in spec.used
    try:
        task = resolve.task(study, name, [split])
    except RetortError as error:
        yield f"  {split}: {error}", not needed
        return
    settings = (task.splits or {})[split]
    for encoded_split, file in settings.files.items():
        try:
            paths = paths_of(folder_of(study, settings.source), file)
            rows = SplitReader(task, task_type_of(task), settings, paths).read(file.rows)
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield f"  {encoded_split}: {paths[0]}{more}  {_counted(rows)}  sha256 {rows.sha256}", True
            yield from ((f"    {note}", True) for note in rows.notes)
        except RetortError as error:
            yield f"  {encoded_split}: {error}" + ("" if needed else " (only a submission needs it)"), not needed


def _drawn(study: Study, name: str) -> Iterator[tuple[str, bool]]:
    spec = study.tasks[name]
    assert spec.reader is not None
    folder, task = folder_of(study, spec.source), resolve.task(study, name)
    try:
        splits = list(read_task(task, task_type_of(task), {spec.source: folder}))
        path = folder / str(spec.reader.options["file"])
        counts = ", ".join(f"{_counted(rows)} {split}" for split, rows in splits)
        yield f"  {path}  drawn: {counts}  sha256 {sha256(path)}", True
    except RetortError as error:
        yield f"  {error}", False


def _task(study: Study, name: str) -> Iterator[tuple[str, bool]]:
    spec = study.tasks[name]
    splits = {split: files.source or spec.source for split, files in spec.splits.items()} or {"": spec.source}
    absent = {source: _unfetched(study, source) for source in dict.fromkeys(splits.values())}
    yield from (
        (f"  {folder_of(study, source)}: not fetched yet: {what}", True) for source, what in absent.items() if what
    )
    for split, source in splits.items():
        if not absent[source]:
            yield from _filed(study, name, split) if split else _drawn(study, name)


def inventory(study: Study) -> tuple[list[str], bool]:
    """Return a line for each task and each file that it reads, and whether the study's tables can be made from them.

    The second value is False if a file that a table's task needs is missing or cannot be read. A source that is not
    fetched yet counts as present.
    """
    lines, whole, read = [], True, tasks(study)
    for name, spec in study.tasks.items():
        locations = ", ".join(f"{source}: {study.sources[source].place(study.config)}" for source in spec.sources)
        lines.append(f"{name} ({locations}){'' if name in read else ', which no table reads'}")
        for line, fine in _task(study, name):
            lines.append(line)
            whole = whole and (fine or name not in read)
    return lines, whole


def report(study: Study) -> int:
    """Print the inventory and return the exit status: 1 if a file that a table's task needs is missing, else 0."""
    lines, whole = inventory(study)
    print("\n".join(lines))
    return 0 if whole else 1
