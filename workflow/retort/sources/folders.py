"""The check of the user's folders: do they hold the files that models, corpora and tasks read? It asks no server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from retort.plan.resolve_data import split
from retort.specs.source import FolderSource
from retort.study.questions import submitted_splits
from retort.study.reading import of_folder
from retort.study.study import Study

WEIGHTS = ("config.json", "model.safetensors")
NOUNS = {"sources": "source", "models": "model", "corpora": "corpus", "tasks": "task", "submissions": "test sets of"}


@dataclass(frozen=True)
class Absence:
    """Something that is required and not there.

    Args:
        key: what cannot be had, such as 'sources/cc100' or 'tasks/xnli'.
        file: the YAML file that describes it.
        what: what is wrong; with a folder, the rest of a sentence about it, such as 'holds no train.tsv'.
        remedy: what would help.
        folder: the user's folder that lacks it, empty if there is none. Messages name it, tables do not.
    """

    key: str
    file: Path
    what: str
    remedy: str
    folder: str = ""

    @property
    def reason(self) -> str:
        """The reason that tables give for the cells that need it."""
        noun, name = self.key.split("/", 1)
        return f"{NOUNS[noun]} {name} is not there: {'its folder ' * bool(self.folder)}{self.what}"

    def line(self, study: Study) -> str:
        """Return the line that tells it to the user."""
        what = " ".join(filter(None, [self.folder, self.what]))
        return f"{self.file.relative_to(study.folder.parent)}: {what}; {self.remedy}"


def absent_in_folders(study: Study, required: set[str]) -> list[Absence]:
    """Return the required things that the user's folders lack; a source without a folder comes from the hub instead.

    Args:
        study: the study.
        required: names such as 'sources/rte', 'tasks/rte', 'models/roberta-base'.
    """
    folders = {name: _folder(study, name) for name in of_folder("sources", required)}
    absent = [
        Absence(
            f"sources/{name}",
            study.files["sources", name],
            f"is {'empty' if folder.is_dir() else 'no folder'}",
            "put the files there",
            f"path: {folder}",
        )
        for name, folder in sorted(folders.items())
        if folder and not (folder.is_dir() and any(folder.iterdir()))
    ]
    empty = {absence.key.split("/", 1)[1] for absence in absent}
    for name in sorted(required):
        noun, own_name = name.split("/", 1)
        for source, files in FILES[noun](study, own_name) if noun in FILES else ():
            folder = folders.get(source)
            missing = _missing_files(folder, files) if folder and source not in empty else []
            if missing:
                what = f"holds no {', '.join(missing[:3])}" + (f" and {len(missing) - 3} more" * (len(missing) > 3))
                path = study.files[FOLDERS.get(noun, noun), own_name]
                absent.append(Absence(name, path, what, "put it there, or move the folder away", str(folder)))
    return absent


def _folder(study: Study, name: str) -> Path | None:
    source = study.sources[name].in_use(study.config)
    return Path(source.path).expanduser() if isinstance(source, FolderSource) else None


def _missing_files(folder: Path, files: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the files that a folder lacks, each by the first of its names or patterns."""
    return [names[0] for names in files if not any(any(folder.glob(name)) for name in names)]


# (source, the files that are read in it); a file is a tuple of names or patterns, one of which must be there
Files = Iterator[tuple[str, list[tuple[str, ...]]]]


def _of_model(study: Study, name: str) -> Files:
    own = ["tokenizer.json"] if study.tokenizer_of(name) == name else []
    yield study.models[name].source, [(file,) for file in (*WEIGHTS, *own)]


def _of_corpus(study: Study, name: str) -> Files:
    for component in study.corpora[name].components:
        yield component.source, [(pattern,) for pattern in component.files]


def _of_splits(study: Study, name: str, splits: Iterable[str]) -> Files:
    for settings in (split(study, study.tasks[name], each) for each in splits):
        yield settings.source, [(file.file, f"{file.file}.gz") for file in settings.files.values()]


def _of_task(study: Study, name: str) -> Files:
    task = study.tasks[name]
    if task.reader:
        yield task.source, [(str(task.reader.options["file"]),)]
    elif task.splits:
        yield from _of_splits(study, name, task.used)


def _of_submission(study: Study, name: str) -> Files:
    yield from _of_splits(study, name, submitted_splits(study.tasks[name]))


FILES = {"models": _of_model, "corpora": _of_corpus, "tasks": _of_task, "submissions": _of_submission}
FOLDERS = {"submissions": "tasks"}  # noun -> the folder of the YAML files that describe it, if it has another name
