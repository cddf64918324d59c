"""Mistakes in tables."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import TABLE

# fmt: off
MISTAKES = [
    Edits(TABLE, "metric: accuracy", [
        ("metric: acuracy", "metric of mood: no metric is called 'acuracy'; did you mean 'accuracy'?"),
    ]),
    Edits(TABLE, "task: mood", [("task: moods", "task: no task is called 'moods'; did you mean 'mood'?")]),
    Edits(TABLE, "student: tiny-kd", [
        ("student: tiny-kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("student: kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
    ]),
    Edits(TABLE, "tiny-kd: {Mood", [
        ("tiny-kd: {Moood", "published.tiny-kd: no column is called 'Moood'; did you mean 'Mood'?"),
        ("tiny-kdd: {Mood", "published: no row is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
    ]),
    Edits(TABLE, "kind: scores", [
        ("kind: score", "kind: no kind is called 'score'; did you mean 'scores'?"),
        ("kind: [scores]", "kind: no kind is called '['scores']'; did you mean 'scores'?"),
        ("kind:", "kind: no kind is called 'None'; there are: counts, paired-tests, profiles, scores, settings"),
        ("kind: layers",
         "kind: no kind is called 'layers'; there are: counts, paired-tests, profiles, scores, settings"),
        ("knd: scores", "knd: no key is called 'knd'; did you mean 'kind'?"),
    ]),
    Edits(TABLE, "{Mood: [50.0, 10.0], Rating: [0.0, 20.0]}", [
        ("{Mood: [.nan]}",
         "line 12: .nan is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
        ("{Mood: [5000]}", "published.tiny-kd.Mood: accuracy is from 0 to 100, not 5000"),
        ("{Mood: [-50]}", "published.tiny-kd.Mood: accuracy is from 0 to 100, not -50"),
        ("{Mood: [1e308]}", "published.tiny-kd.Mood: accuracy is from 0 to 100, not 1e+308"),
        ("{Mood: [50, 1000]}", "published.tiny-kd.Mood: the standard deviation of accuracy is at most 70.7, not 1000"),
        ("{Rating: [-101]}", "published.tiny-kd.Rating: pearson is from -100 to 100, not -101"),
        ("{Mood: [50, -1]}", "published.tiny-kd.Mood: a standard deviation is at least 0, not -1"),
        ("{Mood: [1,2,3]}", "published.tiny-kd.Mood: Value should have at most 2 items after validation, not 3"),
        ("{Mod: [50]}", "published.tiny-kd: no column is called 'Mod'; did you mean 'Mood'?"),
    ]),
    Edits(TABLE, "question: Does the workflow run?", [
        ("question: Does the workflow run?\ndecimals: -1",
         "decimals: Input should be greater than or equal to 0, not -1"),
        ("question: Does the workflow run?\ndecimals: 99",
         "decimals: Input should be less than or equal to 10, not 99"),
        ("question: Does the workflow run?\nlength: 0", "length: Input should be greater than 0, not 0"),
        ("question: Does the workflow run?\nnumbers: 3", "the rows hold 0 numbers, and 'numbers' says 3"),
        ("question: Does the workflow run?\nagainst: tiny-kdd",
         "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("question: Does the workflow run?\nprinted: x | y",
         "printed: the header is not that of 'stub' and 'columns'; write `- | Mood | Rating`"),
    ]),
    Edits(TABLE, "student: tiny-kd, label: Vanilla KD", [
        ("student: tiny-kd, label: Attention", "row 'Attention' stands twice"),
        ("student: tiny-attention, label: Vanilla KD", "row 'tiny-attention' stands twice"),
        ("label: Vanilla KD", "rows.2: row 'Vanilla KD' needs one of 'student', 'planned' and 'quoted'"),
        ("quoted: Lee, differs: by far, label: Vanilla KD",
         "rows.2: row 'Vanilla KD': 'differs' is of a row that is run"),
        ("student: tiny-kd, planned: x, label: Vanilla KD",
         "rows.2: row 'Vanilla KD' needs one of 'student', 'planned' and 'quoted'"),
        ("student: tiny-kd, model: x, label: Vanilla KD",
         "rows.2: row 'Vanilla KD': 'model' names what a quoted row shows"),
    ]),
    Edits(TABLE, "label: Rating", [("label: Mood", "column 'Mood' stands twice")]),
    Edits(TABLE, "metric: pearson, label: Rating", [
        ("label: Rating", "row 'Teacher', column 'Rating': no 'metric', in neither of them"),
    ]),
    Edits(TABLE, "task: rating, metric: pearson", [
        ("metric: pearson", "row 'Teacher', column 'Rating': no 'task', in neither of them"),
        ("mean_of: [Mood, Mood]", "columns.2.mean_of: 'Mood' is listed twice"),
        ("mean_of: [Mod]", "column 'Rating' names a column 'Mod' that does not exist"),
        ("change_from: Mod", "column 'Rating' names a column 'Mod' that does not exist"),
        ("task: rating, metric: pearson, mean_of: [Mood]",
         "columns.2: only one of 'metric', 'mean_of', 'tasks' and 'change_from' says what a column holds"),
        ("tasks: {mood: acc}", "metric of mood: no metric is called 'acc'; there are: accuracy"),
        ("tasks: {mod: accuracy}", "task: no task is called 'mod'; did you mean 'mood'?"),
    ]),
    Edits(TABLE, "metric: pearson, label", [
        ("metric: pearson, printed: Accuracy, label",
         "columns.2: 'Accuracy' is not a word for pearson; say why in 'because'"),
        ("metric: pearson, because: x, label",
         "columns.2: 'because' explains why 'printed' and 'metric' differ, and here they do not"),
        ("metric: pearson, timing: batch-16, label",
         "columns.2: 'timing' is of a latency or a speed-up, not of 'pearson'; a task has a 'subset'"),
        ("metric: latency, timing: batch-0, label",
         "columns.2: there is no timing 'batch-0'; give 'batch-16' or another number, 'cpu' or 'gpu'"),
        ("metric: latency, subset: de, label",
         "columns.2: 'subset' is of a score, not of 'latency'; say how it is measured in 'timing'"),
    ]),
    Edits(TABLE, "title: On the task\n", [("", "title: Field required")]),
    Edits(TABLE, "kind: scores\n", [("", "kind: Field required")]),
    Edits(TABLE, "label: Vanilla KD", [
        ("lable: Vanilla KD", "rows.2.lable: no key is called 'lable'; did you mean 'label'?"),
    ]),
    Edits("papers/tiny/table2.yaml", "kind: profiles", [
        ("kind: profiles\nlength: 64", "length: timed rows of 64 tokens, and model 'encoder' takes 32"),
    ]),
    Edits("papers/tiny/table3.yaml", "of: [table1]", [
        ("of: [table9]",
         "of: no table is called 'table9'; there are: figure1, figure2, figure3, table1, table2, table3, table4"),
        ("of: [table1, table1]", "of: 'table1' is listed twice"),
        ("of: [table1]\nreported: {table9: {below: 0.05}}",
         "reported: no table of 'of' is called 'table9'; there are: table1"),
        ("of: [table1]\nreported: {table1: {below: 0.05, not_significant: [[Vanilla KD, Atention]]}}",
         "reported.table1: no row that is tested is called 'Atention'; did you mean 'Attention'?"),
        ("of: [table2]", "of: 'table2' is not a table of kind 'scores'"),
    ]),
    Edits(TABLE,
          "columns:\n  - {task: mood, metric: accuracy, label: Mood}\n"
          "  - {task: rating, metric: pearson, label: Rating}\n", [
        ("columns: mood-and-rating\n",
         "columns: no list of columns is called 'mood-and-rating'; did you mean 'mood-and-ratings'?"),
    ]),
]
# fmt: on
