"""The inventory that `retort check --data` prints: where sources are, and whether jobs can read models and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from retort.checksums import sha256
from retort.data.encoding import check_labels
from retort.data.splits import SplitReader, SplitRows, paths_of, read_task
from retort.data.tokenizers import FILE, Tokeniser, check_ids, check_same_tokenizer, read_tokenizer, tokenizer_file
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.settings.inputs import TaskSettings
from retort.sources.run_sources import Absence
from retort.specs.source import FolderSource, HubSource
from retort.study.cells import expand, required
from retort.study.study import Study
from retort.tasks import task_type_of

Found = tuple[str, bool]  # a line of the inventory, and whether it is free of problems
Check = tuple[str, Callable[[], Iterator[Found]]]  # a source, and what checks files of it
HEADINGS = {"tasks": "tasks", "models": "models", "corpora": "corpora"}
TEXT_FILES = (".tsv", ".txt", ".csv", ".jsonl")  # a line of them ends with a line break


def folder_of(study: Study, source: str) -> Path:
    """Return the folder that holds the files of a source, or will hold them once they are fetched."""
    spec = study.sources[source].in_use(study.config)
    return Path(spec.path).expanduser() if isinstance(spec, FolderSource) else Path("results/sources") / source


def _count_rows(rows: SplitRows) -> str:
    text = f"{len(rows.records):,} rows"
    text += f" of {rows.sample[1]:,} (a sample)" if rows.sample else ""
    return text + ("" if rows.labelled else ", no labels")


def _tokenizers(study: Study) -> dict[str, list[Path]]:
    """Return task -> the files of the tokenizers with which its rows are encoded for some cell."""
    pairs = {
        (cell.task, study.tokenizer_of(study.teachers[study.teacher_of(cell.student)].model)) for cell in expand(study)
    }
    found = defaultdict[str, list[Path]](list)
    for task, model in sorted(pairs):
        found[task].append(folder_of(study, study.models[model].source) / FILE)
    return found


class Rows:
    """The rows of a task's splits, read and tokenised as its jobs do, for what only all of them tell.

    Args:
        files: the files of the tokenizers.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = [file for file in files if file.is_file()]
        self.seen: dict[bytes, str] = {}  # the tokens of a row -> its split

    @cached_property
    def tokenisers(self) -> list[Tokeniser]:
        """The tokenizers, each read once for all splits."""
        return [Tokeniser.of(read_tokenizer(file)) for file in self.files]

    def check(self, task: TaskSettings, split: str, rows: SplitRows) -> Iterator[str]:
        """Yield what is odd about the rows of a split.

        Raises:
            RetortError: the rows cannot be encoded.
        """
        kind = task_type_of(task)
        for tokenise in self.tokenisers:
            tokenise.encoder.enable_truncation(**kind.truncation(task))
            table = kind.encode(task, rows.records, tokenise)[""]
            if split == task.train_split:
                check_labels(task, table)
            if tokenise is self.tokenisers[0]:
                yield from self._oddities(split, table, rows.labelled)

    def _oddities(self, split: str, table: pa.Table, labelled: bool) -> Iterator[str]:
        if labelled and len(table) > 1 and "labels" in table.column_names and len(table["labels"].unique()) == 1:
            yield f"all {len(table):,} rows of {split} have one label"
        shared = dict[str, int]()
        for row in table["input_ids"]:
            other = self.seen.setdefault(row.values.to_numpy().tobytes(), split)
            if other != split:
                shared[other] = shared.get(other, 0) + 1
        yield from (f"{count:,} rows of {split} stand in {other}, too" for other, count in shared.items())


def _odd_file(path: Path) -> Iterator[str]:
    """Yield what is odd about a file of text: NUL bytes, or an end within a line."""
    if path.suffix in TEXT_FILES:
        content = path.read_bytes()
        if b"\0" in content:
            yield f"{path.name} holds NUL bytes, the first in line {content[: content.index(0)].count(10) + 1}"
        if not content.endswith(b"\n"):
            yield f"{path.name} ends within a line; is it whole?"


def _check_split(study: Study, name: str, split: str, every: Rows) -> Iterator[Found]:
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
            odd = (line for path in paths for line in _odd_file(path))
            told = [*rows.notes, *odd, *every.check(task, encoded_split, rows)]
            yield from ((f"    {note}", True) for note in told)
        except RetortError as error:
            yield f"  {encoded_split}: {error}" + ("" if needed else " (only a submission needs it)"), not needed


def _check_drawn_splits(study: Study, name: str, every: Rows) -> Iterator[Found]:
    """Yield a line for a task whose splits are drawn from one file."""
    spec = study.tasks[name]
    assert spec.reader is not None
    folder, task = folder_of(study, spec.source), resolve_data.task(study, name)
    try:
        splits = list(read_task(task, task_type_of(task), {spec.source: folder}))
        path = folder / str(spec.reader.options["file"])
        counts = ", ".join(f"{_count_rows(rows)} {split}" for split, rows in splits)
        yield f"  {path}  drawn: {counts}  sha256 {sha256(path)}", True
        told = [*_odd_file(path), *(line for split, rows in splits for line in every.check(task, split, rows))]
        yield from ((f"    {note}", True) for note in told)
    except RetortError as error:
        yield f"  {error}", False


def _of_task(tokenizers: Mapping[str, list[Path]], study: Study, name: str) -> list[Check]:
    spec, every = study.tasks[name], Rows(tokenizers.get(name, ()))
    if not spec.splits:
        return [(spec.source, partial(_check_drawn_splits, study, name, every))]
    splits = spec.splits.items()
    return [(files.source or spec.source, partial(_check_split, study, name, split, every)) for split, files in splits]


def _check_model(study: Study, name: str) -> Iterator[Found]:
    """Yield what jobs that read a model would refuse: they call the same functions."""
    from retort.models.build import load  # imports torch
    from retort.models.initialise import check_published

    spec, own = study.models[name], study.models[study.tokenizer_of(name)]
    folder, beside = folder_of(study, spec.source), folder_of(study, own.source)
    checks: list[Callable[[], object]] = [
        lambda: check_published(folder, resolve_data.model(study, name)),
        lambda: load(folder, "masked-lm" if spec.masked_lm else "none"),
        lambda: check_ids(tokenizer_file(beside), spec.vocabulary),
        lambda: check_same_tokenizer(str(folder), str(beside)),
    ]
    for check in checks:
        try:
            check()
        except RetortError as error:
            yield f"  {error}", False
            return
    yield f"  {folder}: {spec.vocabulary:,} tokens, texts of up to {spec.positions}; its weights can be read", True


def _of_model(study: Study, name: str) -> list[Check]:
    sources = [study.models[each].source for each in (study.tokenizer_of(name), name)]
    *others, last = dict.fromkeys(sources)
    return [*((source, lambda: iter(())) for source in others), (last, partial(_check_model, study, name))]


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


def inventory(study: Study, absent: Iterable[Absence] = (), every: bool = False) -> tuple[list[str], int]:
    """Return the lines of the inventory, and the number of problems with what this configuration reads.

    There is a line for each task, model and corpus, and one for each file of rows. A source that is not fetched yet
    counts as present.

    Args:
        study: the study, at its scale.
        absent: what is known to be missing.
        every: whether what no table reads is listed too.
    """
    checks: dict[str, Callable[[Study, str], list[Check]]] = {
        "tasks": partial(_of_task, _tokenizers(study)),
        "models": _of_model,
    }
    read, missing = required(study), {absence.key: absence.line(study) for absence in absent}
    lines, told = [*(["missing:"] if missing else []), *(f"  {line}" for line in missing.values())], set[str]()
    for folder, heading in HEADINGS.items():
        entries: Mapping[str, Any] = getattr(study, folder)
        names = [name for name in entries if every or f"{folder}/{name}" in read]
        lines += [f"{heading}:"] if names else []
        for name in names:
            sources = [entries[name].source] if folder == "models" else sorted(entries[name].sources)
            places = ", ".join(f"{source}: {study.sources[source].place(study.config)}" for source in sources)
            needed = f"{folder}/{name}" in read
            lines.append(f"{name} ({places}){'' if needed else ', which no table reads'}")
            known = {f"{folder}/{name}", *(f"sources/{source}" for source in sources)} & missing.keys()
            for line, fine in _check(study, checks[folder](study, name)) if folder in checks and not known else ():
                if fine or line not in told:  # several tasks read one tokenizer
                    lines.append(line)
                if needed and not fine:
                    told.add(line)
    return lines, len(missing) + len(told)
