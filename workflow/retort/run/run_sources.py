"""What a run decides about its sources before it is planned: which files are missing, and which commits it uses.

All processes of a run must make the same plan, also those that the executor starts for single jobs. So the main process
looks into the user's folders and asks the hub once, before the plan is made, and its jobs get the answer in the
configuration. The next run decides anew.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from retort.data.sources import hub
from retort.errors import NoAnswer, RetortError
from retort.plan.resolve_data import fetched, split_settings
from retort.run import pinning
from retort.specs import catalogue
from retort.specs.base import path_of_user
from retort.specs.config import RunSources
from retort.specs.loading import shown
from retort.specs.model import POOLED, Model, described_in, family_in, parts_of_weights
from retort.specs.source import FolderSource, HubSource
from retort.specs.student import Student
from retort.study.cells import of_folder, required
from retort.study.questions import submitted_splits
from retort.study.study import Study

SILENT = "the hub gives no answer"
WEIGHTS = ("config.json", "model.safetensors")
NOUNS = {
    "sources": "source",
    "models": "model",
    "corpora": "corpus",
    "tasks": "task",
    "submissions": "test sets of",
}


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
        return f"{shown(self.file, study.config.study_folders)}: {what}; {self.remedy}"


def without_asking(study: Study) -> RunSources:
    """Return the decision of a dry run: leave out only what the user's folders lack, and do not ask the hub."""
    return _decision(study, absent_in_folders(study, required(study)), {})


def with_answers_of_the_hub(study: Study) -> RunSources:
    """Return the decision of a run: ask the hub for each of its sources that was not fetched yet."""
    needed = required(study)
    asked = {name: source for name, source in _on_hub(study, needed).items() if not _was_fetched(study, name)}
    answers = _ask(asked)
    errors = {name: answer for name, answer in answers.items() if isinstance(answer, RetortError)}
    silent = next((error for error in errors.values() if isinstance(error, NoAnswer)), None)
    if silent:
        _tell([f"{SILENT}: {silent.message}"])
    absent = [_absence(study, name, asked[name], errors[name]) for name in sorted(errors)]
    commits = {name: str(answers[name]) for name in answers if name not in errors and not asked[name].hub.commit}
    return _decision(study, [*absent_in_folders(study, needed), *absent], commits)


def _decision(study: Study, absent: list[Absence], commits: dict[str, str]) -> RunSources:
    """Return a decision, and print a line for each thing that is left out."""
    _tell(f"left out: {absence.line(study)}" for absence in absent)
    missing = {absence.key: absence.reason for absence in absent}
    return RunSources(folders=study.config.folders, commits=commits, missing=missing)


def pin(study: Study) -> None:
    """Write the commits that the hub answered into the sources' files, with a line for each."""
    for name, commit in study.config.run_sources.commits.items():
        path, spec = study.files["sources", name], study.sources[name]
        assert isinstance(spec, HubSource)
        place = shown(path, study.config.study_folders)
        try:
            pinning.write(path, commit, spec.hub.branch)
            _tell([f"{place}: pinned to {commit}, {spec.hub.branch} of {spec.hub.repository}"])
        except (OSError, RetortError) as error:
            _tell([f"{place}: runs with {commit}, which could not be written there: {error}"])


def summary(missing: Mapping[str, str]) -> str:
    """Return the last message of a run that had to leave something out."""
    lines = "".join(f"\n  {reason}" for reason in missing.values())
    return f"everything else is made; {len(missing)} left out, and cells that need it say 'missing':{lines}"


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)


# what the hub has


def record_of(name: str) -> Path:
    """Return the file in which the fetching job notes the settings of a source; it outlives the source's files."""
    return Path(f"results/sources/{name}.json")


def _was_fetched(study: Study, name: str) -> bool:
    """Return whether a source was fetched with the settings that it has now."""
    try:
        record = json.loads(record_of(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(record == fetched(study, name).model_dump(mode="json"))


def _on_hub(study: Study, needed: set[str]) -> dict[str, HubSource]:
    """Return the needed sources whose files come from the hub, sorted by name."""
    in_use = {name: study.sources[name].in_use(study.config) for name in sorted(of_folder("sources", needed))}
    return {name: source for name, source in in_use.items() if isinstance(source, HubSource)}


def _ask(sources: dict[str, HubSource]) -> dict[str, str | RetortError]:
    """Ask the hub for the commit of each source, if it is not known, and for its files; return the commit or an error.

    If the hub gives no answer for the first source, that is the answer for all.
    """
    if importlib.util.find_spec("huggingface_hub") is None or not sources:
        return {}  # without the hub's client, the fetching job will find out
    first, *rest = sources.values()
    answer = _ask_one(first)
    if isinstance(answer, NoAnswer):
        return dict.fromkeys(sources, answer)
    with ThreadPoolExecutor(max_workers=8) as pool:
        return dict(zip(sources, [answer, *pool.map(_ask_one, rest)], strict=True))


def _ask_one(source: HubSource) -> str | RetortError:
    try:
        commit = source.hub.commit or hub.commit_of(source.hub)
        hub.listing(source.at(commit).hub)
    except RetortError as error:
        return error
    return commit


def _absence(study: Study, name: str, source: HubSource, error: RetortError) -> Absence:
    """Return what a run lacks if the hub cannot give a source, and what would help, there or in a folder instead."""
    is_silent = isinstance(error, NoAnswer)
    folder = source.folder(study.config)
    own = f"put its files into {folder}" if folder else ""
    if source.local and not folder:
        own = f"give {source.setting} in config.yaml, with its files in the folder {source.local}"
    remedy = ", or ".join(filter(None, ("run again where it is within reach" if is_silent else error.hint, own)))
    what = f"hub: {SILENT if is_silent else error.message}"
    return Absence(f"sources/{name}", study.files["sources", name], what, remedy)


# what the user's folders hold


def absent_in_folders(study: Study, needed: set[str]) -> list[Absence]:
    """Return the required things that the user's folders lack; a source without a folder comes from the hub instead.

    Args:
        study: the study.
        needed: names such as 'sources/rte', 'tasks/rte', 'models/roberta-base'.
    """
    in_use = {name: study.sources[name].in_use(study.config) for name in sorted(of_folder("sources", needed))}
    folders = {name: path_of_user(each.path) for name, each in in_use.items() if isinstance(each, FolderSource)}
    empty = {name for name, folder in folders.items() if not (folder.is_dir() and any(folder.iterdir()))}
    absent = []
    for name in sorted(empty):
        what = f"is {'empty' if folders[name].is_dir() else 'no folder'}"
        file, folder = study.files["sources", name], f"path: {folders[name]}"
        absent.append(Absence(f"sources/{name}", file, what, "put the files there", folder))
    for key in sorted(needed):
        noun, name = key.split("/", 1)
        for source, files in _files_read(study, noun, name):
            if source not in folders or source in empty:
                continue
            place = folders[source]
            if missing := [names[0] for names in files if not any(any(place.glob(each)) for each in names)]:
                what = f"holds no {', '.join(missing[:3])}" + (f" and {len(missing) - 3} more" * (len(missing) > 3))
                what += parts_of_weights(place) if noun == "models" else ""
                file = study.files["tasks" if noun == "submissions" else noun, name]
                absent.append(Absence(key, file, what, "put it there, or move the folder away", str(place)))
            elif noun == "models" and (
                what := _misfit(study.models[name], place) or _unread_pooler(study, name, place)
            ):
                absent.append(Absence(key, study.files["models", name], what, "correct one of the two", str(place)))
    return absent


def _misfit(model: Model, folder: Path) -> str:
    """Return how the config.json of a folder differs from a model's file; empty if it does not."""
    try:
        said = described_in(folder)
    except RetortError as error:
        return f"holds no model: {error}"
    sizes = said.pop("architecture", {})
    ours = {**model.architecture.model_dump(), "vocabulary": model.vocabulary, "positions": model.positions}
    differs = [f"{key}: {value}, not {ours[key]}" for key, value in {**sizes, **said}.items() if ours.get(key) != value]
    return f"has a config.json with {', '.join(differs)}" if differs else ""


def _unread_pooler(study: Study, name: str, folder: Path) -> str:
    """Return which student needs a pooler that the folder of its teacher does not have; empty if none does."""
    if (folder / "config.json").is_file() and (family := family_in(folder)) not in POOLED:
        for student, spec in study.running.items():
            if study.teachers[spec.teacher].model == name and (reader := _reader_of_pooler(spec)):
                what = f"holds a model of family {family}, which has no pooler"
                return f"{what}, and '{reader}' of student '{student}' needs one"
    return ""


def _reader_of_pooler(student: Student) -> str:
    """Return the objective or key of a student that needs a pooler; empty if none does."""
    objectives = catalogue.objectives()
    terms = [objectives[term.objective] for stage in student.stages for term in stage.terms]
    found = [entry.name for entry in terms if "pooled" in (*entry.activations, *entry.teacher_activations)]
    return next(iter(found), "pooler_relu" if student.pooler_relu else "")


def _files_read(study: Study, noun: str, name: str) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield (source, files) for what is read of a model, a corpus, a task or test sets of a submission.

    A file is a tuple of names or patterns, one of which must be there.
    """
    match noun:
        case "models":
            own = ["tokenizer.json"] if study.tokenizer_of(name) == name else []
            yield study.models[name].source, [(file,) for file in (*WEIGHTS, *own)]
        case "corpora":
            for component in study.corpora[name].components:
                yield component.source, [(pattern,) for pattern in component.files]
        case "tasks" | "submissions":
            task = study.tasks[name]
            for each in task.read_splits if noun == "tasks" else submitted_splits(task):
                settings = split_settings(study, task, each)
                yield settings.source, [(file.file, f"{file.file}.gz") for file in settings.files.values()]
