"""Checks across files: names that must exist in another file, depths, widths, splits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort.registry import unknown
from retort.specs import catalogue
from retort.specs.corpus import Component
from retort.specs.exhibit import Exhibit, exhibits_of
from retort.specs.loading import Problems
from retort.specs.protocol import Protocol
from retort.specs.scale import Scale
from retort.specs.student import Stage, Student, Term
from retort.study import check_lengths, check_students
from retort.study.check_statements import Known, check_statements
from retort.study.reading import check_tasks
from retort.study.study import Study


class Checker:
    """The checks of one study. Each method adds the problems of one folder or one aspect of the study."""

    def __init__(self, study: Study, problems: Problems) -> None:
        self.study, self.problems = study, problems
        self.wrong_schedules: set[tuple[str, str]] = set()  # (protocol, task) with a problem in the protocol's own file

    def known(self, path: Path, where: str, noun: str, name: str, among: Any) -> bool:
        """Return whether a name is among the known ones; if not, add a problem.

        An entry that could not be read has a problem in its own file already, so none is added for its name.

        Args:
            path: the file that gives the name.
            where: the key that gives it.
            noun: what the name is a name of, such as 'task'.
            name: the name.
            among: the known names.
        """
        if name not in among and not self.problems.is_unread(name):
            self.problems.add(path, f"{where}: {unknown(noun, name, among)}")
        return name in among

    def sources(self) -> None:
        """Check the sources and source readers of models and tasks."""
        readers = catalogue.readers()
        for folder in ("models", "tasks"):
            for name, spec in getattr(self.study, folder).items():
                self.known(self.study.files[folder, name], "source", "source", spec.source, self.study.sources)
        for name, task in self.study.tasks.items():
            path = self.study.files["tasks", name]
            for other in task.sources[1:]:
                self.known(path, "splits", "source", other, self.study.sources)
            if task.reader and self.known(path, "reader", "reader", task.reader.name, readers):
                self.problems.validate(path, "reader.options", readers[task.reader.name].schema, task.reader.options)

    def tokenizers(self) -> None:
        """Check that a model with another model's tokenizer has as many tokens, and that the other has its own."""
        models = self.study.models
        for name, model in models.items():
            other, path = model.tokenizer, self.study.files["models", name]
            if other is None or not self.known(path, "tokenizer", "model", other, models):
                continue
            if other == name:
                self.problems.add(path, "tokenizer: leave it out; without it, a model has its own")
            elif models[other].tokenizer:
                self.problems.add(path, f"tokenizer: '{other}' has that of '{models[other].tokenizer}'; name this one")
            elif models[other].vocabulary != model.vocabulary:
                sizes = f"'{other}' has {models[other].vocabulary} tokens, '{name}' {model.vocabulary}"
                self.problems.add(path, f"tokenizer: {sizes}; they cannot share one")

    def corpora(self) -> None:
        """Check the packing and the components of every corpus."""
        for name, corpus in self.study.corpora.items():
            path = self.study.files["corpora", name]
            self.known(path, "packing", "packing", corpus.packing, catalogue.packers())
            for number, component in enumerate(corpus.components, start=1):
                self.component(path, f"components.{number}", component)

    def component(self, path: Path, where: str, component: Component) -> None:
        """Check one component of a corpus."""
        formats = catalogue.text_formats()
        self.known(path, f"{where}.source", "source", component.source, self.study.sources)
        if self.known(path, f"{where}.format", "text format", component.format, formats):
            self.problems.validate(path, f"{where}.options", formats[component.format].schema, component.options)

    def protocols(self) -> None:
        """Check the tasks, schedules, lengths and grids of every protocol."""
        for name, protocol in self.study.protocols.items():
            path = self.study.files["protocols", name]
            for task in protocol.tasks:
                self.known(path, "tasks", "task", task, {**self.study.tasks, **self.study.corpora})
                if self.problems.attempt(path, f"tasks.{task}", protocol.for_task, task) is None:
                    self.wrong_schedules.add((name, task))
            for line in check_lengths.length_problems(self.study, protocol.schedule.max_length, protocol.tasks):
                self.problems.add(path, line)
            for task in protocol.grids:
                self.known(path, "grids", "task", task, self.study.tasks)
            for task, metric in protocol.metric_for_best_model.items():
                if self.known(path, "metric_for_best_model", "task", task, self.study.tasks):
                    spec = self.study.tasks[task]
                    measures = spec.measures(spec.validation_split)
                    self.known(path, f"metric_for_best_model.{task}", "metric", metric, measures)
            for task in (name for name in self.study.tasks if name in {**protocol.tasks, **protocol.grids}):
                self.grid(path, task, protocol)

    def grid(self, path: Path, task: str, protocol: Protocol) -> None:
        """Check that a task's changes of the schedule set no field that its grid tries, and that both count alike."""
        grid, changed = protocol.grid_of(task), protocol.tasks.get(task, {})
        axes = set(grid.points()[0]) if grid else set()
        for field in sorted(axes & set(changed)):
            where = f"grids.{task}" if task in protocol.grids else "grid"
            self.problems.add(path, f"tasks.{task}.{field}: '{where}' tries its own; give it there, in 'grids.{task}'")
        if task in protocol.grids and "epochs" in axes and {"steps": protocol.schedule.steps, **changed}.get("steps"):
            self.problems.add(path, f"grids.{task}.epochs: the schedule counts in steps; give it 'epochs'")

    def teachers(self) -> None:
        """Check the model and protocol of every teacher."""
        for name, teacher in self.study.teachers.items():
            path = self.study.files["teachers", name]
            where = f"teachers.{name.split('-', 1)[1]}"
            self.known(path, f"{where}.model", "model", teacher.model, self.study.models)
            self.known(path, f"{where}.protocol", "protocol", teacher.protocol, self.study.protocols)

    def students(self) -> None:
        """Check the protocol, tasks, teacher, initialisation and stages of every student."""
        for name, student in self.study.students.items():
            path, slug = self.study.files["students", name], self.study.keys[name]
            has_protocol = self.known(path, f"{slug}.protocol", "protocol", student.protocol, self.study.protocols)
            for task in student.tasks or []:
                self.known(path, f"{slug}.tasks", "task", task, self.study.tasks)
            if not self.known(path, f"{slug}.teacher", "teacher", student.teacher, self.study.teachers):
                continue
            if self.study.teachers[student.teacher].model not in self.study.models:
                continue
            start = student.initialisation
            if start.student is not None:
                self.known(path, f"{slug}.initialisation.student", "student", start.student, self.study.students)
            if start.checkpoint is not None:
                self.known(path, f"{slug}.initialisation.checkpoint", "model", start.checkpoint, self.study.models)
            for line in check_students.initialisation_problems(self.study, name):
                self.problems.add(path, f"{slug}.initialisation.{line}")
            for index, stage in enumerate(student.stages, start=1):
                self.stage(path, f"{slug}.stages.{index}", student, stage)
                if has_protocol:
                    self.schedules(path, f"{slug}.stages.{index}", student.protocol, stage)

    def schedules(self, path: Path, where: str, name: str, stage: Stage) -> None:
        """Check the schedule of a stage under a protocol, also with its changes for single tasks."""
        protocol = self.study.protocols[name]
        self.problems.attempt(path, f"{where}.schedule", protocol.for_task, "", stage.schedule)
        for task in stage.tasks:
            is_known = self.known(path, f"{where}.tasks", "task", task, self.study.tasks)
            if is_known and (name, task) not in self.wrong_schedules:
                self.problems.attempt(path, f"{where}.tasks.{task}", protocol.for_task, task, *stage.changes(task))
        for line in check_lengths.length_problems(self.study, stage.schedule.get("max_length"), stage.tasks):
            self.problems.add(path, f"{where}.{line}")

    def stage(self, path: Path, where: str, student: Student, stage: Stage) -> None:
        """Check the data and the terms of a stage."""
        if stage.data != "task":
            self.known(path, f"{where}.data", "corpus", stage.data, self.study.corpora)
        for index, term in enumerate(stage.terms, start=1):
            self.term(path, f"{where}.terms.{index}", student, term)
            for line in check_students.data_problems(term.objective, stage.data):
                self.problems.add(path, f"{where}.terms.{index}.objective: {line}")
            for task in term.not_on:
                self.known(path, f"{where}.terms.{index}.not_on", "task", task, self.study.tasks)

    def term(self, path: Path, where: str, student: Student, term: Term) -> None:
        """Check the objective of a term against the architectures of student and teacher."""
        objectives, teacher = catalogue.objectives(), self.study.model_of(student.teacher).architecture
        if not self.known(path, where, "objective", term.objective, objectives):
            return
        for line in check_students.term_problems(term, student.architecture, teacher, student.initial_layers):
            self.problems.add(path, f"{where}{line}")

    def exhibits(self) -> None:
        """Check the names in every table and figure, and the tables and figures that papers show."""
        everyone = {**self.study.students, **self.study.teachers}
        for (slug, name), exhibit in self.study.exhibits.items():
            path = self.study.files["exhibits", f"{slug}/{name}"]
            students = list(exhibit.students())
            unknown_students = [name for name in students if not self.known(path, "student", "student", name, everyone)]
            for task, metric in exhibit.metrics():
                if self.known(path, "task", "task", task, self.study.tasks):
                    spec = self.study.tasks[task]
                    self.known(path, f"metric of {task}", "metric", metric, spec.measures(spec.evaluation_split))
            for line in (*exhibit.problems(self.study, slug), *self.depths(exhibit)) if not unknown_students else ():
                self.problems.add(path, line)
        for slug, paper in self.study.papers.items():
            names, _ = exhibits_of(self.study, slug)
            for name in paper.show:
                self.known(self.study.folder / "papers" / slug / "paper.yaml", "show", "table or figure", name, names)

    def depths(self, exhibit: Exhibit) -> Iterator[str]:
        """Yield a line for each student of a figure's point whose teacher does not have the layer of the point."""
        for name, layer in exhibit.depths().items():
            teacher = (
                self.study.teachers.get(self.study.students[name].teacher) if name in self.study.students else None
            )
            model = self.study.models.get(teacher.model) if teacher else None
            if model and layer > model.architecture.layers:
                yield f"points.{layer}: the teacher of '{name}' has {model.architecture.layers} layers"

    def positions(self) -> None:
        """Check that no model reads longer texts than it has positions for."""
        for path, line in check_lengths.position_problems(self.study):
            self.problems.add(path, line)

    def names(self) -> None:
        """Check that the results of two entries cannot have one path, because of equal names.

        A student and a teacher, or a task and a corpus, must differ in name. No task is called 'model', and no corpus
        'task'.
        """
        for folder, name, why in (
            ("tasks", "model", "results/students/<student>/model holds what was distilled on a corpus"),
            ("corpora", "task", "`data: task` in a stage means the student's own task"),
        ):
            if name in getattr(self.study, folder):
                self.problems.add(self.study.files[folder, name], f"'{name}' is taken: {why}; rename the file")
        for folder, other, why in (
            ("students", "teachers", "their scores would have one address"),
            ("tasks", "corpora", "their teachers would have one address"),
        ):
            for name in sorted(set(getattr(self.study, folder)) & set(getattr(self.study, other))):
                path = self.study.files[folder, name]
                self.problems.add(path, f"'{name}' is also one of the {other}: {why}; rename one of the two")


def check(study: Study, problems: Problems) -> None:
    """Add every problem between files."""
    checker = Checker(study, problems)
    for step in (
        checker.names,
        checker.sources,
        checker.tokenizers,
        checker.corpora,
        checker.protocols,
        checker.teachers,
        checker.students,
        checker.exhibits,
        checker.positions,
    ):
        step()
    check_scale(study, study.config.scale, study.scale, checker.known)
    check_statements(study, problems, checker.known)
    check_tasks(study, problems)


def check_scale(study: Study, name: str, scale: Scale, known: Known) -> None:
    """Check that the model, corpus and tasks by which a scale replaces the printed ones exist.

    Args:
        study: the study.
        name: the name of the scale.
        scale: the scale.
        known: takes (file, key, type of entry, name, known names); returns whether the name is known.
    """
    replacements, path = scale.replacements, study.folder / "scales" / f"{name}.yaml"
    if replacements is None or all(paper.ours for paper in study.papers.values()):
        return
    known(path, "replacements.model", "model", replacements.model, study.models)
    known(path, "replacements.corpus", "corpus", replacements.corpus, study.corpora)
    for task in replacements.tasks:
        known(path, "replacements.tasks", "task", task, study.tasks)
    for paper in replacements.training_of:
        known(path, "replacements.training_of", "paper", paper, study.all_papers)
    for paper, tasks in replacements.tasks_of.items():
        known(path, "replacements.tasks_of", "paper", paper, study.all_papers)
        for task in tasks:
            known(path, f"replacements.tasks_of.{paper}", "task", task, study.tasks)
