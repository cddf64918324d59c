"""What jobs read: an input function for each kind of file, by the wildcards of a job; `workflow/rules` names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retort.errors import RetortError
from retort.plan import exhibits
from retort.plan.plan import Plan, source_folder
from retort.plan.rule import given
from retort.plan.shared_activations import activations_behind
from retort.plan.sharing import folders_read, grid_parts, remembered_group, student_is_made, students_in
from retort.registry import unknown_name
from retort.study.addresses import names_of_seeds, score_file, seeds_in
from retort.study.questions import submitted_sources

Wildcards = Any


def _of_trained(give: Callable[..., Any], *names: str) -> Callable[[InputFunctions, Wildcards], Any]:
    """Return an input function from one of the plan, a student or teacher, and the values of some wildcards."""
    return lambda self, of: give(self.plan, self.name_of(of), *(getattr(of, name) for name in names))


def _of_group(give: Callable[[Plan, str], Any]) -> Callable[[InputFunctions, Wildcards], Any]:
    """Return an input function from one of the plan and a student of the group, all of which read the same."""
    return lambda self, of: give(self.plan, students_in(self.plan, of.group)[0])


class InputFunctions:
    """The input functions of the rules; `of` are the wildcards of a job.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study, self.trained = plan, plan.study, plan.trained

    def name_of(self, of: Wildcards) -> str:
        """Return the student or teacher that a job is about.

        Raises:
            RetortError: no student that runs, and no teacher, has this name.
        """
        name = str(getattr(of, "student", "") or of.teacher)
        if name not in self.trained:
            raise unknown_name("student or teacher of this run", name, self.trained)
        return name

    # --- data

    def sources_of_task(self, of: Wildcards) -> list[str]:
        """Return the folders of the sources of a task."""
        return list(map(source_folder, self.study.tasks[of.task].sources))

    def sources_of_test_sets(self, of: Wildcards) -> list[str]:
        """Return the folders of the sources of a task's test sets without labels."""
        return list(map(source_folder, submitted_sources(self.study.tasks[of.task])))

    def sources_of_corpus(self, of: Wildcards) -> list[str]:
        """Return the folders of the sources of a corpus."""
        return list(map(source_folder, sorted(self.study.corpora[of.corpus].sources)))

    files_of_tokenizer = given(Plan.model_folder, "tokenizer")

    def tokenized_parts(self, of: Wildcards) -> list[str]:
        """Return the folders of all tokenised parts of a corpus."""
        count = self.study.corpora[of.corpus].jobs.parts
        return [f"results/tokenized/{of.corpus}/{of.tokenizer}/{part}-of-{count}" for part in range(1, count + 1)]

    # --- a teacher or student on a task

    encoded_task = _of_trained(Plan.encoded, "task")
    released_model = _of_trained(Plan.pretrained_folder)
    tokenizer = _of_trained(Plan.tokenizer_folder)

    def grid(self, of: Wildcards) -> list[str]:
        """Return the trials of all parts of the grid on a task; empty without a grid."""
        return grid_parts(self.study, self.name_of(of), of.task)

    finetuned_teacher = given(Plan.teacher, "student", "task")
    teacher_on_task = given(Plan.teacher_on_task, "teacher", "task")

    def activations_of_grid(self, of: Wildcards) -> str | list[str]:
        """Return the stored activations that a part of a student's grid reads; empty if the teacher runs next to it."""
        trials = f"results/trials/{of.student}/{of.task}/{of.part}-of-{of.parts}.jsonl"
        return activations_behind(self.plan, of.student, of.task, trials)

    def activations_of_seeds(self, of: Wildcards) -> str | list[str]:
        """Return the stored activations that the seeds of a student read; empty if the teacher runs next to them."""
        return activations_behind(self.plan, of.student, of.task, score_file(of.student, of.task, of.seeds))

    parent = given(Plan.parent, "student")

    # --- students that are distilled on corpora, side by side; all students of a group have the same inputs

    blocks_of_teacher = given(Plan.blocks, "teacher", "corpus")
    blocks_of_group = _of_group(Plan.corpora)
    teacher_of_group = _of_group(Plan.corpus_teacher)
    released_model_of_group = _of_group(Plan.pretrained_folder)
    tokenizer_of_group = _of_group(Plan.tokenizer_folder)
    parent_of_group = _of_group(Plan.parent)

    def distilled_group(self, of: Wildcards) -> str:
        """Return the folder of the group with which a student is, or was, distilled."""
        student, plan = self.name_of(of), self.plan
        if (group := plan.group_of.get(student)) is None:
            made = student_is_made(student, plan.settings.students[student], folders_read(plan, student))
            group = remembered_group(student) if made else ""
        return f"results/distilled/{group or student}"

    # --- answers for a server

    def encoded_test_sets(self, of: Wildcards) -> str:
        """Return the folder of a task's test sets, encoded with the tokenizer of the student or teacher."""
        return f"results/test_sets/{of.task}/{self.plan.tokenizer_of(self.name_of(of))}"

    def finetuned_weights(self, of: Wildcards) -> str:
        """Return the folder that holds the weights of a student or teacher that is fine-tuned on a task.

        Raises:
            RetortError: the weights of the student are not kept.
        """
        if of.student in self.study.teachers:
            return self.plan.teacher_on_task(of.student, of.task)
        if not self.plan.keeps:
            raise RetortError(f"the weights of '{of.student}' on '{of.task}' are not kept", "set keep_weights: true")
        names = names_of_seeds(self.study, of.student, of.task)
        held = next(name for name in names if int(of.seed) in seeds_in(name))
        return f"results/students/{of.student}/{of.task}/{held}"

    def answers_to_send(self, of: Wildcards) -> list[str]:
        """Return the answers of a student or teacher on the test sets of every task that it is scored on.

        Raises:
            RetortError: it is scored on no task that has a submission.
        """
        tasks = [task for task in sorted(self.plan.settings.predictions) if (of.student, task) in self.plan.pairs]
        if not tasks:
            raise RetortError(f"'{of.student}' is scored on no task that has a submission", "see `retort list`")
        return [f"results/answers/{of.student}/seed-{of.seed}/{task}.json" for task in tasks]

    # --- tables, figures, claims, pages

    file_of_table = given(exhibits.files_of_table, "paper", "table")
    scores_of_table = given(exhibits.scores, "paper", "table")
    profiles_of_table = given(exhibits.profiles, "paper", "table")
    trials_of_table = given(exhibits.trials, "paper", "table")
    records_next_to_table = given(exhibits.records_next_to, "paper", "table")
    submissions_of_table = given(exhibits.submissions, "paper", "table")
    file_of_figure = given(exhibits.file_of, "paper", "figure")
    scores_of_figure = given(exhibits.scores, "paper", "figure")
    profiles_of_figure = given(exhibits.profiles, "paper", "figure")
    tables_of_figure = given(exhibits.drawn_tables, "paper", "figure")
    files_of_claims = given(exhibits.files_of_claims, "paper")
    tables_of_claims = given(exhibits.tables_of_claims, "paper")
    files_of_page = given(exhibits.files_of_page, "paper")
    exhibits_on_page = given(exhibits.exhibits_on_page, "paper")
    claims_on_page = given(exhibits.claims_on_page, "paper")
    files_of_audit = given(exhibits.files_of_audit)
    files_of_index = given(exhibits.files_of_index)
    tables_of_index = given(exhibits.tables_of_index)
    headlines = given(exhibits.headlines)
    claims_of_index = given(exhibits.claims_of_index)
    pages_of_papers = given(lambda plan: exhibits.pages(plan.study))
    page_of_audit = given(lambda plan: exhibits.audit_page(plan.study))
