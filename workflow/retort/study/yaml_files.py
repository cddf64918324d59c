"""Read the YAML files of a study: its folders with a file for each entry, and the folders of its papers."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import nearest_name, unknown_name
from retort.specs import loading
from retort.specs.across import Across, Answer, Facts
from retort.specs.base import Name, Names, path_of_user
from retort.specs.config import Config
from retort.specs.corpus import Corpus
from retort.specs.exhibit import exhibit_type
from retort.specs.loading import Problems
from retort.specs.model import Model, described_in
from retort.specs.paper import Choice, Paper, Recording, Replication, Statement
from retort.specs.protocol import Protocol
from retort.specs.rows import Columns
from retort.specs.scale import Scale
from retort.specs.source import FolderSource, Source
from retort.specs.student import Student
from retort.specs.task import Task
from retort.specs.yaml_reader import read_yaml
from retort.study.check_folders import check_folders
from retort.study.families import Entries, student_entries
from retort.study.study import Study

FOLDERS: dict[str, object] = {
    "sources": Source,
    "models": Model,
    "tasks": Task,
    "corpora": Corpus,
    "protocols": Protocol,
}
COLUMNS = "papers/columns.yaml"
ACROSS = "papers/across.yaml"
ANSWERS = "papers/answers.yaml"
PRECISIONS = ("bfloat16", "float32", "tf32")  # the files in the folder `recorded` of a study of ours
# all files that are read, but for those of recorded runs
FILES = (
    "config.yaml", "facts.yaml", COLUMNS, ACROSS, ANSWERS, "scales/*.yaml", *(f"{name}/*.yaml" for name in FOLDERS),
    "papers/*/paper.yaml", "papers/*/students*.yaml", "papers/*/deviations.yaml", "papers/*/claims.yaml",
    "papers/*/audit.yaml", "papers/*/table*.yaml", "papers/*/figure*.yaml", "papers/*/replications/*.yaml",
)  # fmt: skip


def read_yaml_files(config: Config, problems: Problems) -> Study:
    """Return the study as its files have it, without the entries that have problems.

    Args:
        config: the checked configuration.
        problems: the list to which problems are added.
    """
    study = Study(config=config)
    check_folders(config, problems)
    if problems.lines:
        return study
    papers = sorted(filter(Path.is_dir, config.files("papers/*")), key=attrgetter("name"))
    study.folders = {path.name: path for path in papers}
    # a name is known if there is a file for it; what is wrong with the file is told once, and not where it is named
    names = Names({name: {file.stem: None for file in config.files(f"{name}/**/*.y*ml")} for name in FOLDERS})
    names.entries["papers"] = dict.fromkeys(study.folders)
    own, sizes = _enter_own_source(study, names, problems), _enter_sizes(study, problems)
    changes: dict[str, loading.Change] = {"tasks": own, "models": lambda path, content: sizes(path, own(path, content))}
    for (name, model), folder in itertools.product(FOLDERS.items(), config.study_folders):
        specs = loading.folder(folder / name, model, problems, names, changes.get(name, loading.unchanged))
        setattr(study, name, getattr(study, name) | specs)
        names.entries[name] |= getattr(study, name)
        study.files.update({(name, key): folder / name / f"{key}.yaml" for key in specs})
    study.apply(config.run_sources)
    study.facts = _entries(study, "facts.yaml", Facts, None, problems)
    study.columns = names.entries["columns"] = _entries(study, COLUMNS, Columns, None, problems)
    study.across = _entries(study, ACROSS, Across, names, problems)
    study.answers = _entries(study, ANSWERS, Answer, names, problems)
    _read_scales(study, names, problems)
    _read_papers(study, names, problems)
    for task in config.sampled:
        if task not in names.entries["tasks"]:
            problems.add(config.origin("sample"), f"sample: {unknown_name('task', task, study.tasks)}")
    return study


def _entries(study: Study, file: str, model: Any, names: Names | None, problems: Problems) -> Any:
    """Read a file with entries by name from each folder of the study; the entries have names of their own."""
    entries, kind = dict[str, object](), Path(file).stem
    for path in (folder / file for folder in study.config.study_folders):
        for name, entry in loading.named(path, model, problems, names).items():
            if other := study.files.get((kind, name)):
                problems.add(path, f"{name}: {loading.shown(other, problems.folders)} has this name, too; rename one")
            entries[name], study.files[kind, name] = entry, path
    return entries


def _enter_own_source(study: Study, names: Names, problems: Problems) -> loading.Change:
    """Return a change of files of tasks and models: a source that is given in one is entered under the file's name.

    A `source` that is a name stays unchanged.
    """

    def enter(path: Path, content: Any) -> Any:
        if not isinstance(content, dict) or not isinstance(content.get("source"), dict):
            return content
        source, name = problems.validate(path, "source", Source, content["source"]), path.stem
        if name in names.entries["sources"]:
            other = study.files.get(("sources", name), Path(f"sources/{name}.yaml"))
            what = f"{other.parent.name}/{other.name} gives a source of this name too"
            problems.add(path, f"source: {what}; write `source: {name}`, or rename one")
        elif source is not None:
            study.sources[name], study.files["sources", name] = source, path
        names.entries["sources"][name] = source
        return {**content, "source": name}

    return enter


def _enter_sizes(study: Study, problems: Problems) -> loading.Change:
    """Return a change of models: what a file leaves out is entered as the config.json of the user's folder says."""

    def enter(path: Path, content: Any) -> Any:
        source = study.sources.get(str(content.get("source"))) if isinstance(content, dict) else None
        used = source.in_use(study.config) if source else None
        if not isinstance(used, FolderSource) or {"architecture", "vocabulary", "positions"} <= content.keys():
            return content
        said = problems.attempt(path, "", described_in, path_of_user(used.path))
        if said == {} and not {"architecture", "vocabulary"} <= content.keys():
            what = f"{used.path}/config.json is missing, which says architecture and vocabulary"
            problems.add(path, f"source: {what}; a path counts from the working directory, {Path.cwd()}")
            return loading.UNREAD
        return loading.UNREAD if said is None else {**said, **content}

    return enter


def _read_scales(study: Study, names: Names, problems: Problems) -> None:
    """Read the scales; those of the repository only as far as the study has the models, corpora and tasks for them."""
    config, found = study.config, Problems(*study.config.study_folders)
    for folder in config.scales:
        study.scales |= loading.folder(folder, Scale, found, names)
    if config.scale not in {file.stem for folder in config.scales for file in folder.glob("*.y*ml")}:
        problems.add(config.origin("scale"), f"scale: {unknown_name('scale', config.scale, study.scales)}")
    is_own = config.scales == config.files("scales")
    problems.lines += [line for line in found.lines if is_own or f"/{config.scale}.yaml: " in line]
    study.scale = study.scales.get(config.scale, Scale(title=config.scale))


def is_ours(path: Path) -> bool | None:
    """Return whether a `paper.yaml` describes one of our own studies (`ours: true`); None if it cannot be read."""
    try:
        content = read_yaml(path)
    except RetortError:
        return None
    return bool(content.get("ours")) if isinstance(content, dict) else None


def _check_file_names(study: Study, papers: Collection[str], problems: Problems) -> None:
    """Add a problem for each YAML file that nothing reads because of its name or its place.

    Args:
        study: the study.
        papers: the papers that are read.
        problems: the list to which problems are added.
    """
    recorded = [f"papers/*/recorded/{name}.yaml" for name in (*study.scales, *PRECISIONS)]
    patterns = [*FILES, *recorded]
    within = ("*.y*ml", "*/*.y*ml", *(f"{name}/**/*.y*ml" for name in (*FOLDERS, "scales", "papers")))
    found = ((folder, path) for folder in study.config.study_folders for place in within for path in folder.glob(place))
    for folder, path in sorted(set(found)):
        inside = path.relative_to(folder)
        if inside.parts[0] == "papers" and len(inside.parts) > 2 and inside.parts[1] not in papers:
            continue
        if not any(len(inside.parts) == pattern.count("/") + 1 and inside.match(pattern) for pattern in patterns):
            near = nearest_name(inside.with_suffix(".yaml").as_posix(), patterns)
            hint = f"; did you mean {'' if '*' not in near else 'a name such as '}'{near}'?" if near else ""
            problems.add(path, f"nothing reads a file of this name here{hint}")


# --- papers


def _read_papers(study: Study, names: Names, problems: Problems) -> None:
    """Read the papers that are run or shown: the names of their students first."""
    config, folders = study.config, study.folders
    papers = _shown_papers(study)
    _check_file_names(study, papers, problems)
    before, students = len(problems.lines), dict[str, dict[Path, Entries]]()
    for slug in papers:
        if slug not in folders:
            problems.add(config.origin("papers"), f"papers: {unknown_name('paper', slug, folders)}")
        elif problems.validate(folders[slug], "", Name, slug):
            _read_paper(study, folders[slug] / "paper.yaml", names, problems)
            found = sorted(folders[slug].glob("students*.yaml"))
            students[slug] = {file: student_entries(file, problems) for file in found}
    if len(problems.lines) == before:  # else names of students and teachers may be missing
        listed = ((slug, name) for slug, files in students.items() for each in files.values() for name in each)
        names.entries["students"] = {f"{slug}-{name}": None for slug, name in listed}
        names.entries["teachers"] = study.teachers
    for slug, files in students.items():
        paper = study.papers[slug]
        own = Names(names.entries, slug, [*paper.teachers, *(name for entries in files.values() for name in entries)])
        for file, entries in files.items():
            _read_students(study, file, entries, own, problems)
        _read_deviations(study, folders[slug] / "deviations.yaml", own, problems)
        _read_exhibits(study, folders[slug], own, problems)


def _shown_papers(study: Study) -> list[str]:
    """Return the papers that are named, or those that the scale is for, followed by those that are only shown.

    These are the reported ones where the scale runs our own studies alone, and all if the list of papers is empty.
    """
    if study.config.papers:
        return study.config.papers
    ours = {slug: is_ours(folder / "paper.yaml") for slug, folder in study.folders.items()}
    if study.config.papers is None and study.scale.papers != "ours":
        return [slug for slug in ours if not ours[slug]]
    return sorted(ours, key=lambda slug: ours[slug] is False)  # a paper.yaml that cannot be read is to be reported


def _read_paper(study: Study, file: Path, names: Names, problems: Problems) -> None:
    """Read a paper.yaml with its teachers, protocols and claims; statements, recorded runs, and replications."""
    path, slug = file.parent, file.parent.name
    paper = Paper(title=slug, reference=slug)  # if it cannot be read, the other files are checked all the same
    if loading.is_there(file):
        paper = loading.one(file, Paper, problems, names, _enter_protocols(names)) or paper
    else:
        problems.add(path, "has no paper.yaml")
    study.papers[slug] = paper
    for name, teacher in paper.teachers.items():
        if f"{slug}-{name}" in study.teachers:
            problems.add(file, f"another paper's teacher is called '{slug}-{name}'; rename one")
        study.teachers[f"{slug}-{name}"] = teacher
        study.files["teachers", f"{slug}-{name}"] = file
    for name, protocol in paper.protocols.items():
        if name in study.protocols:
            problems.add(file, f"protocols.{name}: another protocol has this name; rename one")
        study.protocols[name], study.files["protocols", name] = protocol, file
    if paper.claims:
        study.claims[slug] = paper.claims
    for name, statements in (("claims.yaml", study.claims), ("audit.yaml", study.statements)):
        if loading.is_there(path / name):
            found = loading.named(path / name, Statement, problems)
            for twice in found.keys() & statements.get(slug, {}):
                problems.add(file, f"claims.{twice}: {name} has a claim of this name, too; rename one")
            statements[slug] = statements.get(slug, {}) | found
    by_others = loading.folder(path / "replications", Replication, problems, names)
    study.replications.update({(slug, name): one for name, one in by_others.items()})
    for recorded in sorted(path.glob("recorded/*.yaml")):
        if recording := loading.one(recorded, Recording, problems):
            (study.records if recorded.stem in PRECISIONS else study.recordings)[slug, recorded.stem] = recording


def _enter_protocols(names: Names) -> loading.Change:
    """Return a change of nothing in a paper.yaml: the names of its protocols become known, as its teachers use them."""

    def enter(path: Path, content: Any) -> Any:
        inside = content.get("protocols") if isinstance(content, dict) else None
        names.entries["protocols"].update(dict.fromkeys(inside if isinstance(inside, dict) else ()))
        return content

    return enter


def _read_students(study: Study, path: Path, entries: Entries, names: Names, problems: Problems) -> None:
    """Read the entries of a students.yaml: short name -> (key in the file, entry)."""
    for name, (key, entry) in entries.items():
        full = f"{names.paper}-{name}"
        if full in study.students:
            problems.add(path, f"another file has a student that is called '{full}'; rename one")
        if student := problems.validate(path, key, Student, entry, names):
            study.students[full] = student
            study.files["students", full], study.keys[full] = path, key


def _read_deviations(study: Study, path: Path, names: Names, problems: Problems) -> None:
    """Read a deviations.yaml, which need not exist, and put its texts before those of the students' own entries."""
    choices: list[Choice] = (loading.is_there(path) and loading.one(path, list[Choice], problems)) or []
    for number, choice in enumerate(choices, start=1) if "students" in names.entries else ():
        for pattern in (*choice.students, *choice.excluded):
            if not any(fnmatchcase(student, pattern) for student in names.own):
                problems.add(path, f"{number}: {unknown_name('student', pattern, names.own)}")
    for name in names.own:
        if student := study.students.get(f"{names.paper}-{name}"):
            chosen = [text for choice in choices if choice.concerns(name) for text in choice.texts]
            deviations = [*chosen, *student.deviations]
            study.students[f"{names.paper}-{name}"] = student.model_copy(update={"deviations": deviations})


def _read_exhibits(study: Study, path: Path, names: Names, problems: Problems) -> None:
    """Read the tables and figures of a paper: those with files of their own, and those that stand in its paper.yaml."""
    file = path / "paper.yaml"
    for noun, inside in (("table", study.papers[path.name].tables), ("figure", study.papers[path.name].figures)):
        places = {each.stem: (each, "") for each in sorted(path.glob(f"{noun}*.yaml"))}
        for name in inside:
            if name in places:
                problems.add(file, f"{noun}s.{name}: {name}.yaml is there, too; keep one of them")
            else:
                places[name] = (file, f"{noun}s.{name}")
        for name, (place, key) in places.items():
            if problems.attempt(place, key or "file name", loading.checked_name, name, noun) is None:
                continue
            study.files["exhibits", f"{path.name}/{name}"] = place
            kinds, change = exhibit_type(noun), _completed(study, problems, name)
            if key:
                exhibit = problems.validate(place, key, kinds, change(place, inside[name]), names)
            else:
                exhibit = loading.one(place, kinds, problems, names, change)
            if exhibit is not None:
                study.exhibits[path.name, name] = exhibit


def _completed(study: Study, problems: Problems, name: str) -> loading.Change:
    """Return a change of a table or figure: the numbers of the recorded run are entered.

    A table is left out if its list of columns is in a file that cannot be read.
    """

    def enter(path: Path, content: Any) -> Any:
        record = study.record_of(path.parent.name)
        if not isinstance(content, dict):
            return content
        if isinstance(content.get("columns"), str):
            study.with_columns.add((path.parent.name, name))
            if not study.columns and study.config.files(COLUMNS):
                return loading.UNREAD
        if record is None or name not in record.tables:
            return content
        if "means" in content:
            problems.add(path, f"{name}: its reported numbers are in the folder 'recorded'; delete 'means'")
        by_seed = {"by_seed": record.by_seed[name]} if name in record.by_seed else {}
        return {**content, "means": record.tables[name], **by_seed}

    return enter
