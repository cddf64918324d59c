"""The inventory that `retort check --data` prints: where sources are, and whether jobs can read models and rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from textwrap import shorten
from typing import Any

import pyarrow as pa

from retort.data.encoded import Encoded
from retort.data.encoding import check_labels, unknown_tokens
from retort.data.formats import Record
from retort.data.splits import SplitRows, paths_of, read_task
from retort.data.tokenizers import (
    FILE,
    Tokeniser,
    check_ids,
    check_same_tokenizer,
    explained_panics,
    tokenizer_file,
)
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.run.run_sources import Absence
from retort.settings.inputs import TaskSettings
from retort.specs.base import path_of_user
from retort.specs.model import family_in
from retort.specs.source import FolderSource, HubSource
from retort.study.cells import expand, required
from retort.study.study import Study
from retort.tasks import task_type_of

FINE, REMARK, PROBLEM = "", "remark", "problem"  # what a line of the inventory counts as
Found = tuple[str, str]  # a line, and one of them
TEXT_FILES = (".tsv", ".txt", ".csv", ".jsonl")  # a line of them ends with a line break


def folder_of(study: Study, source: str) -> Path:
    """Return the folder that holds the files of a source, or will hold them once they are fetched."""
    spec = study.sources[source].in_use(study.config)
    return path_of_user(spec.path) if isinstance(spec, FolderSource) else Path("results/sources") / source


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


def _label_of(task: TaskSettings, record: Any) -> str:
    """Return the label of a record as the task spells it; empty if it has another sort of answer."""
    if not isinstance(record, Record):
        return ""
    return task.labels[int(record.label)] if task.labels else f"{record.label:.4g}"


def _describe_labels(task: TaskSettings, rows: SplitRows) -> str:
    """Return how often rows have each label, the commonest one first, or from where to where their scores go."""
    scores = [record.label for record in rows.records if isinstance(record, Record) and rows.labelled]
    if not scores or not task.labels:
        return f", from {min(scores):.4g} to {max(scores):.4g}" if scores else ""
    counted = Counter(task.labels[int(score)] for score in scores).most_common()
    return ": " + ", ".join(f"{label} {count:,}" for label, count in counted[:8]) + ", ..." * (len(counted) > 8)


def _sample_rows(task: TaskSettings, rows: SplitRows) -> str:
    """Return the first text of the first two rows, shortened, each with its label."""
    shown = [f"{shorten(each.text, 40, placeholder='...')!r} {_label_of(task, each)}" for each in rows.records[:2]]
    return ", ".join(map(str.strip, shown))


class CheckedRows:
    """The rows of a task's splits, read and tokenised as its jobs do, for what only all of them tell.

    Args:
        files: the files of the tokenizers.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = [file for file in files if file.is_file()]
        self.seen: dict[bytes, str] = {}  # the tokens of a row -> its split
        self.lengths: list[int] = []  # tokens of each row, with the first tokenizer

    def describe_lengths(self, most: int) -> Iterator[str]:
        """Yield how long rows are, if there was a tokenizer; `most` is the maximum length of the task."""
        if self.lengths:
            full = sum(length >= most for length in self.lengths)
            yield f"longest row: {max(self.lengths)} tokens; {full:,} of {len(self.lengths):,} fill max_length, {most}"

    @cached_property
    def tokenisers(self) -> list[Tokeniser]:
        """The tokenizers, each read once for all splits."""
        return [Tokeniser.read(file) for file in self.files]

    def check(self, task: TaskSettings, split: str, rows: SplitRows) -> Iterator[str]:
        """Yield what is odd about the rows of a split.

        Raises:
            RetortError: the rows cannot be encoded.
        """
        kind = task_type_of(task)
        for file, tokenise in zip(self.files, self.tokenisers, strict=True):
            tokenise.encoder.enable_truncation(**kind.truncation(task))
            with explained_panics(file):
                table = kind.encode(task, rows.records, tokenise)[""]
            yield from unknown_tokens(split, table, tokenise)
            if split == task.train_split:
                check_labels(task, table)
            if tokenise is self.tokenisers[0]:
                self.lengths += Encoded.from_table(table).lengths.tolist()
                yield from self._oddities(split, table, rows.labelled)

    def _oddities(self, split: str, table: pa.Table, labelled: bool) -> Iterator[str]:
        labels = Encoded.from_table(table).labels  # (rows, ...): a task type decides what a label is
        if labelled and len(labels) > 1 and (labels == labels[0]).all():
            yield f"all {len(labels):,} rows of {split} have one label"
        shared = dict[str, int]()
        for row in table["input_ids"]:
            other = self.seen.setdefault(row.values.to_numpy().tobytes(), split)
            if other != split:
                shared[other] = shared.get(other, 0) + 1
        yield from (f"{count:,} rows of {split} stand in {other}, too" for other, count in shared.items())


def _odd_files(task: TaskSettings, folders: Mapping[str, Path]) -> Iterator[str]:
    """Yield what is odd about the text files of a task: an end within a line."""
    files = [(folders[split.source], file) for split in task.splits.values() for file in split.files.values()]
    paths = [path for folder, file in files for path in paths_of(folder, file)]
    for path in paths:
        content = path.read_bytes() if path.suffix in TEXT_FILES else b"\n"
        if not content.endswith(b"\n"):
            yield f"{path.name} ends within a line; is it whole?"


def _check_task(tokenizers: Mapping[str, list[Path]], study: Study, name: str) -> Iterator[Found]:
    """Yield a line for each split of a task, and for each subset of it, and what is odd about its rows."""
    spec, every = study.tasks[name], CheckedRows(tokenizers.get(name, ()))
    every_split: list[list[str] | None] = [[split] for split in spec.splits]
    for splits in every_split or [None]:  # None: those that are drawn from one file
        used = splits is None or splits[0] in spec.used
        try:
            task = resolve_data.task_settings(study, name, splits)
            folders = {source: folder_of(study, source) for source in (spec.source, *task.further_sources)}
            for split, rows in read_task(task, task_type_of(task), folders):
                counted = f"{_count_rows(rows)}{_describe_labels(task, rows)}"
                yield f"  {split}: {counted}{f'  sha256 {rows.sha256}' if rows.sha256 else ''}", FINE
                if split == task.train_split:
                    yield f"  first rows: {_sample_rows(task, rows)}", FINE
                yield from ((f"    {note}", REMARK) for note in [*rows.notes, *every.check(task, split, rows)])
            yield from ((f"    {line}", REMARK) for line in _odd_files(task, folders))
        except RetortError as error:
            named = f"{splits[0]}: " if splits else ""
            yield f"  {named}{error}{'' if used else ' (only a submission needs it)'}", PROBLEM if used else REMARK
    yield from ((f"  {line}", FINE) for line in every.describe_lengths(spec.max_length))


def _check_model(study: Study, name: str) -> Iterator[Found]:
    """Yield what jobs that read a model would refuse: they call the same functions."""
    from retort.models.build import load  # imports torch
    from retort.models.initialise import check_released

    spec, own = study.models[name], study.models[study.tokenizer_of(name)]
    folder, nearby = folder_of(study, spec.source), folder_of(study, own.source)
    checks: list[Callable[[], object]] = [
        lambda: check_released(folder, resolve_data.model_settings(study, name)),
        lambda: load(folder, "masked-lm" if spec.masked_lm else "none"),
        lambda: check_ids(tokenizer_file(nearby), spec.vocabulary),
        lambda: check_same_tokenizer(str(folder), str(nearby)),
    ]
    for check in checks:
        try:
            check()
        except RetortError as error:
            yield f"  {error}", PROBLEM
            return
    yield f"  {folder}: {spec.vocabulary:,} tokens, texts of up to {spec.positions}; its weights can be read", FINE
    yield from _check_starts(study, name, folder, nearby)


def _check_starts(study: Study, name: str, folder: Path, tokenizer: Path) -> Iterator[Found]:
    """Yield how a model from which students start is unlike their teacher's: its tokenizer, its family.

    Args:
        study: the study.
        name: the model.
        folder: the folder with its weights.
        tokenizer: the folder with its tokenizer.
    """
    for student, spec in study.running.items():
        model = study.teachers[spec.teacher].model
        teacher, shared = (folder_of(study, study.models[each].source) for each in (model, study.tokenizer_of(model)))
        if spec.initialisation.checkpoint != name or not (teacher.is_dir() and shared.is_dir()):
            continue
        try:
            check_same_tokenizer(str(teacher), str(shared), str(tokenizer))
        except RetortError as error:
            yield f"  student '{student}' starts from it: {error}", PROBLEM
        if (family := family_in(folder)) != (other := family_in(teacher)):
            yield f"  it is of family {family}; the teacher of student '{student}' is of family {other}", REMARK


def _unfetched(study: Study, source: str) -> str | None:
    """Return a line if a run will fetch a source; None for a folder of the user, or if it is fetched already."""
    spec, folder = study.sources[source].in_use(study.config), folder_of(study, source)
    if isinstance(spec, FolderSource) or folder.is_dir():
        return None
    what = spec.place(study.config)
    if isinstance(spec, HubSource):
        what = f"{spec.hub.repository} of the hub at {spec.hub.commit or 'a commit that `retort pin` has to find'}"
    return f"  {folder}: not fetched yet: {what}"


def inventory(study: Study, absent: Iterable[Absence] = (), every: bool = False) -> tuple[list[str], Counter[str]]:
    """Return the lines of the inventory, and how many of them tell a problem or a remark.

    There is a line for each task, model and corpus, and one for each split. A source that is not fetched yet counts as
    present.

    Args:
        study: the study, at its scale.
        absent: what is known to be missing.
        every: whether what no table reads is listed too.
    """
    checks: dict[str, Callable[[Study, str], Iterable[Found]]] = {
        "tasks": partial(_check_task, _tokenizers(study)),
        "models": _check_model,
        "corpora": lambda *_: (),
    }
    read, missing = required(study), {absence.key: absence.line(study) for absence in absent}
    lines, counts = (
        [*(["missing:"] if missing else []), *(f"  {line}" for line in missing.values())],
        Counter({PROBLEM: len(missing)}),
    )
    for folder, check in checks.items():
        entries: Mapping[str, Any] = getattr(study, folder)
        names = [name for name in entries if every or f"{folder}/{name}" in read]
        lines += [f"{folder}:"] if names else []
        for name in names:
            sources = [entries[name].source] if folder == "models" else sorted(entries[name].sources)
            places = ", ".join(f"{source}: {study.sources[source].place(study.config)}" for source in sources)
            unread = "" if f"{folder}/{name}" in read else ", which no table reads"
            lines.append(f"{name} ({places}){unread}")
            if {f"{folder}/{name}", *(f"sources/{source}" for source in sources)} & missing.keys():
                continue
            also = [study.models[study.tokenizer_of(name)].source] if folder == "models" else []
            unfetched = [line for source in dict.fromkeys([*also, *sources]) if (line := _unfetched(study, source))]
            lines += unfetched
            for line, kind in () if unfetched else check(study, name):
                if kind != PROBLEM or line not in lines:  # several tasks read one tokenizer
                    lines.append(line)
                    counts[kind] += 1
    return lines, counts


def summary(counts: Mapping[str, int]) -> str:
    """Return the last line of the inventory: how many problems and remarks stand above it."""
    problems, remarks = (f"{counts[kind] or 'no'} {kind}{'s' * (counts[kind] > 1)}" for kind in (PROBLEM, REMARK))
    return problems + f", {remarks}" * (counts[REMARK] > 0)
