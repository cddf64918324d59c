"""Read the YAML files of a study: its folders with a file for each entry, and the folders of its papers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import nearest, unknown
from retort.specs import loading
from retort.specs.base import Names
from retort.specs.config import Config
from retort.specs.corpus import Corpus
from retort.specs.exhibit import exhibit_type
from retort.specs.loading import Problems
from retort.specs.model import Model, described_in
from retort.specs.paper import Across, Choice, Facts, Paper, Recording, Statement
from retort.specs.protocol import Protocol
from retort.specs.rows import Columns
from retort.specs.scale import Scale
from retort.specs.source import FolderSource, Source
from retort.specs.student import Student
from retort.specs.task import Task
from retort.specs.yaml_reader import read_yaml
from retort.study.families import model_named, student_entries, with_sizes
from retort.study.study import Study

FOLDERS: dict[str, Any] = {
    "sources": Source,
    "models": Model,
    "tasks": Task,
    "corpora": Corpus,
    "protocols": Protocol,
}
COLUMNS = "papers/columns.yaml"
ACROSS = "papers/across.yaml"
PRECISIONS = ("bfloat16", "float32", "tf32")  # the files in the folder `recorded` of a study of ours
PAPER_FILES = (
    "paper.yaml", "students*.yaml", "deviations.yaml", "claims.yaml", "audit.yaml", "table*.yaml", "figure*.yaml",
)  # fmt: skip


def read_yaml_files(config: Config, problems: Problems) -> Study:
    """Return the study as its files have it, without the entries that have problems.

    Args:
        config: the checked configuration.
        problems: the list to which problems are added.
    """
    study = Study(folder=config.folder, config=config, unread=problems.unread)
    if not (config.folder / "papers").is_dir():
        wrong = "has no folder 'papers'; name the folder of a study"
        what = f"{config.study} {wrong}" if config.folder.is_dir() else f"there is no folder {config.study}"
        problems.add(config.origin("study"), f"study: {what}")
        return study
    for name, model in FOLDERS.items():
        changes = {"tasks": _enter_own_source, "models": _enter_sizes}
        change = changes[name](study, problems) if name in changes else loading.unchanged
        specs = loading.folder(config.folder / name, model, problems, change)
        setattr(study, name, specs)
        study.files.update({(name, key): config.folder / name / f"{key}.yaml" for key in specs})
    study.apply(config.run_sources)
    if loading.is_there(path := config.folder / "facts.yaml"):
        study.facts = loading.named(path, Facts, problems)
        study.files.update({("facts", str(name)): path for name in loading.entries(path, problems)})
    if loading.is_there(path := config.folder / COLUMNS):
        study.columns = loading.named(path, Columns, problems)
    if loading.is_there(path := config.folder / ACROSS):
        study.across = loading.named(path, Across, problems)
    study.scales = loading.folder(config.scales, Scale, problems)
    if config.scale not in study.scales and config.scale not in problems.unread:
        problems.add(config.origin("scale"), f"scale: {unknown('scale', config.scale, study.scales)}")
    study.scale = study.scales.get(config.scale, Scale(title=config.scale))
    folders = {slug: config.folder / "papers" / slug for slug in study.all_papers}
    of_scale = (study.scale.papers == "ours", None)  # a paper.yaml that cannot be read is to be reported
    ran = [slug for slug, path in folders.items() if is_ours(path / "paper.yaml") in of_scale]
    papers = ran if config.papers is None else config.papers
    _check_file_names(config.folder, folders.keys() & set(papers), problems)
    for slug in papers:
        if slug not in folders:
            problems.add(config.origin("papers"), f"papers: {unknown('paper', slug, folders)}")
        elif loading.checked_entry_name(folders[slug], slug, problems):
            _read_paper(study, folders[slug], problems)
    for task in config.sampled:
        if task not in study.tasks:
            problems.add(config.origin("sample"), f"sample: {unknown('task', task, study.tasks)}")
    return study


def _enter_own_source(study: Study, problems: Problems) -> loading.Change:
    """Return a change of task files: a source that is given in the file is entered as a source with the task's name.

    A `source` that is a name stays unchanged.
    """

    def enter(path: Path, content: Any) -> Any:
        if not isinstance(content, dict) or not isinstance(content.get("source"), dict):
            return content
        source, name = problems.validate(path, "source", Source, content["source"]), path.stem
        if name in study.sources:
            problems.add(path, f"source: sources/{name}.yaml has this name too; write `source: {name}`, or rename one")
        elif source is None:
            problems.unread.add(name)
        else:
            study.sources[name], study.files["sources", name] = source, path
        return {**content, "source": name}

    return enter


def _enter_sizes(study: Study, problems: Problems) -> loading.Change:
    """Return a change of models: what a file leaves out is entered as the config.json of the user's folder says."""

    def enter(path: Path, content: Any) -> Any:
        source = study.sources.get(str(content.get("source"))) if isinstance(content, dict) else None
        used = source.in_use(study.config) if source else None
        if not isinstance(used, FolderSource) or {"architecture", "vocabulary", "positions"} <= content.keys():
            return content
        said = problems.attempt(path, "", described_in, Path(used.path).expanduser())
        return loading.UNREAD if said is None else {**said, **content}

    return enter


def enter_columns(study: Study, problems: Problems, inside: str = "") -> loading.Change:
    """Return a change of tables: where `columns` is a name, the list of columns of that name stands in its place.

    Args:
        study: the study.
        problems: the list to which problems are added.
        inside: the name of a table of a paper.yaml; empty for tables with files of their own.
    """

    def enter(path: Path, content: Any) -> Any:
        name = content.get("columns") if isinstance(content, dict) else None
        if not isinstance(name, str):
            return content
        study.with_columns.add((path.parent.name, inside or path.stem))
        if name not in study.columns:
            key = f"tables.{inside}.columns" if inside else "columns"
            lines = study.wrong_name(key, "list of columns", name, study.columns)
            if "papers-*" not in problems.unread:  # else no list could be read, which has a line of its own
                problems.add_all((path, line) for line in lines)
            return loading.UNREAD
        return {**content, "columns": [column.model_dump(exclude_unset=True) for column in study.columns[name]]}

    return enter


def is_ours(path: Path) -> bool | None:
    """Return whether a `paper.yaml` describes one of our own studies (`ours: true`); None if it cannot be read."""
    try:
        content = read_yaml(path)
    except RetortError:
        return None
    return bool(content.get("ours")) if isinstance(content, dict) else None


def _check_file_names(folder: Path, papers: Iterable[str], problems: Problems) -> None:
    """Add a problem for each YAML file that nothing reads because of its name or its place."""
    places: dict[Path, tuple[str, ...]] = {folder / name: ("*.yaml",) for name in (*FOLDERS, "scales")}
    scales = tuple(path.name for path in (folder / "scales").glob("*.yaml"))
    for paper in (folder / "papers" / paper for paper in papers):
        precisions = [f"{name}.yaml" for name in PRECISIONS if is_ours(paper / "paper.yaml")]
        places |= {paper: PAPER_FILES, paper / "recorded": (*scales, *precisions)}
    below = [path for place in places for path in place.glob("**/*.y*ml")]
    places |= {folder: ("facts.yaml",), folder / "papers": ("columns.yaml", "across.yaml")}
    known = (*FOLDERS, "scales", "papers", "schemas", "recorded")
    for path in sorted({file.parent for file in folder.glob("*/*.y*ml")}):
        if path.name not in known:
            near = nearest(path.name, known)
            hint = f"did you mean '{near}'?" if near else "move it"
            problems.add(path, f"nothing reads a folder of this name; {hint}")
    for path in sorted({*below, *folder.glob("*.y*ml"), *folder.glob("papers/*.y*ml")}):
        patterns = places.get(path.parent, ())
        if not any(path.match(pattern) for pattern in patterns):
            problems.unread.add(f"{path.parent.name}-*" if path.stem.startswith("students") else path.stem)
            problems.add(path, f"nothing reads a file of this name here; {_suggestion(path, patterns)}")


def _suggestion(path: Path, patterns: tuple[str, ...]) -> str:
    """Return a suggestion for a misplaced file: another name or place."""
    right = path.with_suffix(".yaml").name
    if path.suffix != ".yaml" and any(Path(right).match(pattern) for pattern in patterns):
        return f"rename it to '{right}'"
    near = nearest(right, [pattern.replace("*", "1") for pattern in patterns])
    if near is None:
        return "rename it or move it" if patterns else "move it"
    return f"did you mean {'' if near in patterns else 'a name such as '}'{near}'?"


# --- a paper


def _read_paper(study: Study, path: Path, problems: Problems) -> None:
    """Read the folder of one paper: its teachers, students, claims, statements of the audit, runs, tables, figures."""
    slug = path.name
    file = path / "paper.yaml"
    if not loading.is_there(file):
        problems.add(path, "has no paper.yaml")
        problems.unread.add(f"{slug}-*")
        return
    paper = loading.one(file, Paper, problems)
    if paper is None:  # the other files are checked all the same
        problems.unread.add(f"{slug}-*")
        paper = Paper(title=slug, reference=slug)
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
    files = {each: student_entries(each, problems) for each in sorted(path.glob("students*.yaml"))}
    students = [name for entries in files.values() for name in entries]
    names = Names(slug, [*paper.teachers, *students], study.all_papers)
    for each, entries in files.items():
        _read_students(study, each, entries, names, problems)
    _read_deviations(study, path / "deviations.yaml", students, problems)
    if paper.claims:
        study.claims[slug] = paper.claims
    for name, statements in (("claims.yaml", study.claims), ("audit.yaml", study.statements)):
        if loading.is_there(path / name):
            found = loading.named(path / name, Statement, problems)
            for twice in found.keys() & statements.get(slug, {}):
                problems.add(file, f"claims.{twice}: {name} has a claim of this name, too; rename one")
            statements[slug] = statements.get(slug, {}) | found
    for recorded in sorted(path.glob("recorded/*.yaml")):
        if recording := loading.one(recorded, Recording, problems):
            (study.records if recorded.stem in PRECISIONS else study.recordings)[slug, recorded.stem] = recording
    _read_exhibits(study, path, names, problems)
    for noun, inside in (("table", paper.tables), ("figure", paper.figures)):
        for name, content in inside.items():
            _read_inside(study, file, noun, name, content, names, problems)


def _read_students(
    study: Study, path: Path, entries: dict[str, tuple[str, Any]], names: Names, problems: Problems
) -> None:
    """Read the entries of a students.yaml: short name -> (key in the file, entry)."""
    for name, (key, entry) in entries.items():
        full = f"{names.paper}-{name}"
        student, model = None, model_named(entry)
        if model and model not in study.models:
            lines = study.wrong_name(f"{key}.architecture", "model", model, study.models)
            problems.add_all((path, line) for line in lines)
        else:
            student = problems.validate(path, key, Student, with_sizes(entry, study.models), names)
        if student is None:
            problems.unread.add(full)
            continue
        if full in study.students:
            problems.add(path, f"another file has a student that is called '{full}'; rename one")
        study.students[full] = student
        study.files["students", full], study.keys[full] = path, key


def _read_deviations(study: Study, path: Path, students: Collection[str], problems: Problems) -> None:
    """Read a deviations.yaml, and put its texts before those of the students' own entries.

    Args:
        study: the study, with the students of the paper.
        path: the file, which need not exist.
        students: the short names of the paper's students, also of those that could not be read.
        problems: the list to which problems are added.
    """
    choices: list[Choice] = (loading.is_there(path) and loading.one(path, list[Choice], problems)) or []
    paper = path.parent.name
    whole = not any(name.startswith(f"{paper}-") for name in problems.unread)
    for number, choice in enumerate(choices, start=1) if whole else ():
        for pattern in (*choice.students, *choice.excluded):
            if not any(fnmatchcase(student, pattern) for student in students):
                problems.add(path, f"{number}: {unknown('student', pattern, students)}")
    for name in students:
        if student := study.students.get(f"{paper}-{name}"):
            chosen = [text for choice in choices if choice.concerns(name) for text in choice.texts]
            deviations = [*chosen, *student.deviations]
            study.students[f"{paper}-{name}"] = student.model_copy(update={"deviations": deviations})


def _completed(study: Study, problems: Problems, name: str, inside: str = "") -> loading.Change:
    """Return a change of a table or figure: its list of columns, and the numbers of the recorded run, are entered.

    Scores by seed are entered only of a run in the precision of this one: they are of the same trainings.
    """
    columns = enter_columns(study, problems, inside)

    def enter(path: Path, content: Any) -> Any:
        content, record = columns(path, content), study.record_of(path.parent.name)
        if record is None or name not in record.tables or not isinstance(content, dict):
            return content
        if "published" in content:
            problems.add(path, f"{name}: its published numbers are in the folder 'recorded'; delete 'published'")
        same = record.run.get("precision") == study.config.resolved_precision()
        by_seed = {"by_seed": record.by_seed[name]} if same and name in record.by_seed else {}
        return {**content, "published": record.tables[name], **by_seed}

    return enter


def _read_exhibits(study: Study, path: Path, names: Names, problems: Problems) -> None:
    for noun in ("table", "figure"):
        for file in sorted(path.glob(f"{noun}*.yaml")):
            exhibit = loading.one(file, exhibit_type(noun), problems, names, _completed(study, problems, file.stem))
            problems.attempt(file, "file name", loading.checked_name, file.stem)
            if exhibit is not None:
                study.exhibits[path.name, file.stem] = exhibit
            study.files["exhibits", f"{path.name}/{file.stem}"] = file


def _read_inside(
    study: Study, file: Path, noun: str, name: str, content: Any, names: Names, problems: Problems
) -> None:
    """Read a table or figure that stands in a paper.yaml, as if it had a file of its own."""
    key, paper = f"{noun}s.{name}", names.paper
    if problems.attempt(file, key, loading.checked_name, name, noun) is None:
        return
    if ("exhibits", f"{paper}/{name}") in study.files:
        problems.add(file, f"{key}: {name}.yaml is there, too; keep one of them")
        return
    study.files["exhibits", f"{paper}/{name}"] = file
    changed = _completed(study, problems, name, name)(file, content)
    is_read = changed is not loading.UNREAD
    exhibit = problems.validate(file, key, exhibit_type(noun), changed, names) if is_read else None
    if exhibit is None:
        problems.unread.add(name)
    else:
        study.exhibits[paper, name] = exhibit
