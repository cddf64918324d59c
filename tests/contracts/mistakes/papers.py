"""Mistakes in paper.yaml, deviations, claims and figures."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import CLAIMS, PAPER

# a table, a figure and a claim without files of their own
INSIDE = """tables:
  table7:
    kind: scores
    title: T
    question: Q?
    columns: mood-and-ratings
    rows: [{student: kd, label: A}, {student: attention, label: B}]
claims:
  two:
    says: A is above B.
    where: here
    compare: above
    cells: [{table: table7, rows: [A], columns: [Mood]}]
    than: [{table: table7, rows: [B], columns: [Mood]}]
protocols:
  long: {title: L, schedule: {steps: 6, batch_size: 8, learning_rate: 1.0e-3}, seeds: [1], tasks: {mood: {steps: 7}}}
figures:
  figure7: {kind: layers, title: T, question: Q?, task: rating, metric: pearson, points: {2: kd}}
"""
MOOD = "{table: table1, rows: [%s], columns: [Mood]}"
# fmt: off
MISTAKES = [
    Edits(PAPER, [
        ("table4, ", "tabel4, ", "show: no table or figure is called 'tabel4'; did you mean 'table4'?"),
        ("model: encoder", "model: encodr", "teachers.teacher.model: no model is called 'encodr'"),
        ("model: encoder", "modell: encoder", "teachers.teacher.modell: no key is called 'modell'"),
        ("show: [table1,", "show: [table1, table1,", "show: 'table1' is listed twice"),
        ("A tiny study", '"A tiny\\u202e study"', "title: a line break or a control character stands in it"),
        ("title: A tiny study", 'title: "A tiny\\a study"', "title: a line break or a control character stands in it"),
        ("A tiny study", '"A tiny\\u200f study"', "title: a line break or a control character stands in it"),
        ("title: A tiny study", 'title: "A tiny\\nstudy"', "title: a line break or a control character stands in it"),
        ("title: A tiny study", 'title: "A tiny\\tstudy"', "title: a line break or a control character stands in it"),
        ("protocol: short", "protocol: shrt", "teachers.teacher.protocol: no protocol is called 'shrt'"),
        ("short", "short, seed: -1", "teachers.teacher.seed: Input should be greater than or equal to 0, not -1"),
        ("  teacher: {", "  teach_er: {", "teachers.teach_er: 'teach_er' does not match the pattern"),
        ("reference: Made up for the tests\n", "", "reference: Field required"),
    ]),
    Edits("papers/tiny/deviations.yaml", [
        ("students: [kd], texts: [", "students: [kdd], texts: [", "1: no student is called 'kdd'; did you mean 'kd'?"),
        ("{students: [kd", "{students: [kd], exept: [kd", "1.exept: no key is called 'exept'; did you mean 'except'?"),
    ], before="- {students: [kd], texts: [{of: [seeds], text: x}]}\n"),
    Edits(CLAIMS, [
        ("[Mood]", "[Mod]", "kd-above-attention: no column of table1 is called 'Mod'; did you mean 'Mood'?"),
        ("rows: [Attention]", "rows: [Atention]", "kd-above-attention: no row of table1 is called 'Atention'"),
        ("{table: table1", "{table: tabel1", "kd-above-attention: no table is called 'tabel1'; did you mean 'table1'?"),
        ("table1,", "table3,", "kd-above-attention: no row of table3 is called 'Vanilla KD'; there are: none"),
        ("above\n", "abov\n", "kd-above-attention.compare: no comparison is called 'abov'; did you mean 'above'?"),
        ("above\n", "below\n", "kd-above-attention.compare: no comparison is called 'below'"),
        ("above\n", "above\n  other_readings: {strictly: {says: strictly, compare: abov}}\n",
         "kd-above-attention.other_readings.strictly.compare: no comparison is called 'abov'; did you mean 'above'?"),
        ("above\n", "above\n  other_readings: {strictly: {says: strictly, number: many}}\n",
         "kd-above-attention.other_readings.strictly.number: 'many' is not a number as papers print it"),
        (f"above\n  cells: [{MOOD % 'Vanilla KD'}]\n  than: [{MOOD % 'Attention'}]",
         "two-texts\n  number: '1'\n  other: '2'", "kd-above-attention: 'other' is not for claims.yaml"),
        ("rows: [Vanilla KD]", "rows: Vanilla KD", "kd-above-attention.cells.1.rows: give a list, not 'Vanilla KD'"),
        ("compare: above", "compare: above\n  number: many",
         "kd-above-attention: 'many' is not a number as papers print it"),
        ("compare: above\n", "compare: difference\n", "kd-above-attention: comparison 'difference' needs 'number'"),
        ("compare: above\n", "", "line 4: not valid YAML (mapping values are not allowed in this context)"),
        ("kd-above-attention:", "kd above attention:",
         "kd above attention: 'kd above attention' does not match the pattern"),
    ]),
    Edits("papers/tiny/figure1.yaml", [
        ("points: {2: tiny-kd, 4", "points: {2: tiny-kd, 9", "points.9: the teacher of 'tiny-attention' has 4 layers"),
        ("{2: tiny-kd, 4: tiny-attention}", "{2: tiny-kd, 4: tiny-kd}", "points: student 'tiny-kd' stands twice"),
        ("points: {2: tiny-kd, 4: tiny-attention}", "points: {}", "points: Dictionary should have at least 1 item"),
        ("tiny-kd, 4: tiny-attention", "tiny-kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("metric: accuracy", "metric: acuracy", "metric of mood: no metric is called 'acuracy'"),
        ("task: mood", "task: mod", "task: no task is called 'mod'; did you mean 'mood'?"),
        ("points: {2: tiny-", "points: {2: tiny_", "points.2: 'tiny_kd' does not match the pattern"),
    ]),
    Edits("papers/tiny/figure2.yaml", [
        ("label: Two layers", "label: Teacher", "point 'Teacher' stands twice"),
        ("student: tiny-kd, label", "student: tiny-kdd, label", "student: no student is called 'tiny-kdd'"),
    ]),
    Edits("papers/tiny/figure3.yaml", [("of: table1", "of: table9", "of: no table is called 'table9'")]),
    Edits(PAPER, [
        ("kind: scores", "kind: score", "tables.table7.kind: no kind is called 'score'; did you mean 'scores'?"),
        ("student: kd, label: A", "student: kdd, label: A", "tables.table7: student: no student is called 'tiny-kdd'"),
        ("columns: mood-and-ratings", "columns: mood-and-rating",
         "tables.table7.columns: no list of columns is called 'mood-and-rating'; did you mean 'mood-and-ratings'?"),
        ("  two:", "  kd-above-attention:", "claims.kd-above-attention: claims.yaml has a claim of this name, too"),
        ("  long:", "  short:", "protocols.short: another protocol has this name; rename one"),
        ("mood: {steps: 7}", "mod: {steps: 7}", "protocols.long.tasks.mod: no task is called 'mod'"),
        ("rows: [B]", "rows: [C]", "claims.two: no row of table7 is called 'C'; there are: A, B"),
        ("metric: pearson,", "metric: pearsn,", "figures.figure7: metric of rating: no metric is called 'pearsn'"),
    ], before=INSIDE),
    Edits(PAPER, [
        ("  table7:", "  figure7:", "tables.figure7: 'figure7' is not a name such as table1, table5-acl or figure2"),
        ("  table7:", "  table1:", "tables.table1: table1.yaml is there, too; keep one of them"),
        ("  table7:", "  table_7:", "tables.table_7: 'table_7' does not match the pattern"),
    ], before=INSIDE.partition("claims:")[0]),
]
# fmt: on
