"""Mistakes in paper.yaml, tables, deviations, claims and figures."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import CLAIMS, PAPER, TABLE

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
    quote: {section: nowhere, text: a sentence}
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
ACROSS = """\
objectives:
  title: Objectives
  compared: [{paper: tiny, table: table1, about: all, over: [Mood], baseline: Attention, rows: {one: Vanilla KD}}]
"""
ANSWERS = """\
first:
  question: What now?
  answer: A, and not B.
  rests_on: [{paper: tiny, claims: {kd-above-attention: supported}, exhibits: [table1]}]
  picture: tiny/figure2
"""

# fmt: off
MISTAKES = [
    # paper.yaml, deviations, claims and figures
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
        ("rows: [Attention]", "rows: ['Attention ']",
         "kd-above-attention.than.1.rows.1: a space stands before or behind 'Attention '; write it without"),
        ("rows: [Attention]", "rows: [Atention]", "kd-above-attention: no row of table1 is called 'Atention'"),
        ("{table: table1", "{table: tabel1", "kd-above-attention: no table is called 'tabel1'; did you mean 'table1'?"),
        ("table1,", "table3,", "kd-above-attention: no row of table3 is called 'Vanilla KD'; there are: none"),
        ("above\n", "abov\n", "kd-above-attention.compare: no comparison is called 'abov'; did you mean 'above'?"),
        ("above\n", "below\n", "kd-above-attention.compare: no comparison is called 'below'"),
        ("above\n", "above\n  other_readings: {strictly: {says: strictly, compare: abov}}\n",
         "kd-above-attention.other_readings.strictly.compare: no comparison is called 'abov'; did you mean 'above'?"),
        ("above\n", "above\n  other_readings: {strictly: {says: strictly, number: many}}\n",
         "kd-above-attention.other_readings.strictly.number: 'many' is not a number as papers report it"),
        (f"above\n  cells: [{MOOD % 'Vanilla KD'}]\n  than: [{MOOD % 'Attention'}]",
         "two-texts\n  number: '1'\n  other: '2'", "kd-above-attention: 'other' is not for claims.yaml"),
        ("rows: [Vanilla KD]", "rows: Vanilla KD", "kd-above-attention.cells.1.rows: give a list, not 'Vanilla KD'"),
        ("compare: above", "compare: above\n  number: many",
         "kd-above-attention: 'many' is not a number as papers report it"),
        ("compare: above\n", "compare: difference\n", "kd-above-attention: comparison 'difference' needs 'number'"),
        *(("above\n", f'above\n  {key}: "a\\0b"\n', f"kd-above-attention.{key}: a control character stands in it")
          for key in ("contrary", "why", "reading", "because")),
        ("compare: above", 'compare: above\n  number: "7\\e0"',
         "kd-above-attention.number: a line break or a control character stands in it"),
        ("compare: above\n", "", "line 5: not valid YAML (mapping values are not allowed in this context)"),
        ("text: a sentence", f"text: {'word ' * 26}", "kd-above-attention.quote.text: a quote has at most 25 words"),
        ("compare: above", "compare: above\n  reply: {by: A, date: 2026-13-01, text: No.}",
         "kd-above-attention.reply.date: no calendar has the day 2026-13-01"),
        ("compare: above", "compare: above\n  sort: wrong",
         "kd-above-attention: 'sort' is that of the finding of 'but'"),
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
    Edits("papers/across.yaml", [
        ("paper: tiny", "paper: tinny", "paper: no paper is called 'tinny'; did you mean 'tiny'?"),
        ("baseline: Attention", "baseline: BB", "baseline: no row is called 'BB'"),
        ("over: [Mood]", "over: [Acc.]", "over: no column is called 'Acc.'"),
        ("{one: Vanilla KD}", "{one: C}", "rows: no row is called 'C'"),
    ], before=ACROSS, at="objectives.compared.1."),
    Edits("papers/answers.yaml", [
        ("picture:", 'limits: "a\\eb"\n  picture:', "limits: a control character stands in it; write it without"),
        ("tiny/figure2", "figure2", "picture: no question of across.yaml or figure is called 'figure2'"),
        ("paper: tiny", "paper: tinny", "rests_on.1.paper: no paper is called 'tinny'"),
        ("[table1]", "[table11]", "rests_on.1.exhibits: no table or figure"),
        ("{kd-above-attention:", "{b:", "rests_on.1.claims: no claim is"),
        (", claims: {kd-above-attention: supported}, exhibits: [table1]", "",
         "rests_on.1: 'tiny' has no part in this answer"),
    ], before=ANSWERS, at="first."),
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
    # tables
    Edits(TABLE, [
        ("metric: accuracy", "metric: acuracy", "metric of mood: no metric is called 'acuracy'"),
        ("task: mood", "task: moods", "task: no task is called 'moods'; did you mean 'mood'?"),
        ("student: tiny-kd", "student: tiny-kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("student: tiny-kd", "student: kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("tiny-kd: {Mood", "tiny-kd: {Moood", "means.tiny-kd: no column is called 'Moood'; did you mean 'Mood'?"),
        ("tiny-kd: {Mood", "tiny-kdd: {Mood", "means: no row is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("kind: scores", "kind: score", "kind: no kind is called 'score'; did you mean 'scores'?"),
        ("kind: scores", "kind: [scores]", "kind: no kind is called '['scores']'; did you mean 'scores'?"),
        ("kind: scores", "kind:", "kind: no kind is called 'None'"),
        ("kind: scores", "kind: layers", "kind: no kind is called 'layers'"),
        ("kind: scores", "knd: scores", "knd: no key is called 'knd'; did you mean 'kind'?"),
        ("[50.0, 10.0], Rating: [0.0, 20.0]", "[5000]", "means.tiny-kd.Mood: accuracy is from 0 to 100, not 5000"),
        ("[50.0, 10.0], Rating: [0.0, 20.0]}", "[-50]}", "means.tiny-kd.Mood: accuracy is from 0 to 100, not -50"),
        ("[50.0, 10.0], Rating: [0.0, 20.0", "[1e308", "means.tiny-kd.Mood: accuracy is from 0 to 100, not 1e+308"),
        ("{Mood: [50.0, 10.0], Rating: [0.0, 20.0]}", "{Mood: [50, 1000]}",
         "means.tiny-kd.Mood: the standard deviation of accuracy is at most 70.7, not 1000"),
        ("{Mood: [50.0, 10.0], Rating: [0.0, 20.0]}", "{Rating: [-101]}",
         "means.tiny-kd.Rating: pearson is from -100 to 100, not -101"),
        ("50.0, 10.0], Rating: [0.0, 20.0", "50, -1", "means.tiny-kd.Mood: a standard deviation is at least 0"),
        ("{Mood: [50.0, 10.0], Rating: [0.0, 20.0]}", "{Mood: [1,2,3]}",
         "means.tiny-kd.Mood: Value should have at most 2 items after validation, not 3"),
        ("{Mood: [50.0, 10.0], Rating: [0.0, 20.0]}", "{Mod: [50]}", "means.tiny-kd: no column is called 'Mod'"),
        ("run?", "run?\ndecimals: -1", "decimals: Input should be greater than or equal to 0, not -1"),
        ("workflow run?", "workflow run?\ndecimals: 99", "decimals: Input should be less than or equal to 10, not 99"),
        ("the workflow run?", "the workflow run?\nlength: 0", "length: Input should be greater than 0, not 0"),
        ("the workflow run?", "the workflow run?\nnumbers: 3", "the rows hold 0 numbers, and 'numbers' says 3"),
        ("run?", "run?\nagainst: tiny-kdd", "student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"),
        ("run?", "run?\nreported: x | y", "reported: the header is not that of 'stub' and 'columns'"),
        ("student: tiny-kd, label: Vanilla KD", "student: tiny-kd, label: Attention", "row 'Attention' stands twice"),
        ("tiny-kd, label: Vanilla KD", "tiny-attention, label: Vanilla KD", "row 'tiny-attention' stands twice"),
        ("student: tiny-kd, label", "label", "rows.2: row 'Vanilla KD' needs one of 'student', 'planned' and 'quoted'"),
        ("student: tiny-kd, label: Vanilla KD", "quoted: Lee, differs: by far, label: Vanilla KD",
         "rows.2: row 'Vanilla KD': 'differs' is of a row that is run"),
        ("tiny-kd,", "tiny-kd, planned: x,", "rows.2: row 'Vanilla KD' needs one of 'student', 'planned' and 'quoted'"),
        ("tiny-kd,", "tiny-kd, model: x,", "rows.2: row 'Vanilla KD': 'model' names what a quoted row shows"),
        ("label: Rating", "label: Mood", "column 'Mood' stands twice"),
        ("metric: pearson, label:", "label:", "row 'Teacher', column 'Rating': no 'metric', in neither of them"),
        ("task: rating, metric:", "metric:", "row 'Teacher', column 'Rating': no 'task', in neither of them"),
        ("task: rating, metric: pearson", "mean_of: [Mood, Mood]", "columns.2.mean_of: 'Mood' is listed twice"),
        ("task: rating, metric: pearson", "mean_of: [Mod]", "column 'Rating' names a column 'Mod' that does not exist"),
        ("task: rating, metric: pearson", "change_from: Mod",
         "column 'Rating' names a column 'Mod' that does not exist"),
        ("task: mood, metric: accuracy", "change_from: Rating",
         "column 'Mood' is a change of the column before it, and none stands there"),
        ("- {task: mood,", "- {label: All, mean_of: [Avg]}\n  - {label: Avg, mean_of: [Mood]}\n  - {task: mood,",
         "column 'All' is computed from 'Avg', which is computed too; write it after that one"),
        ("task: rating, metric: pearson", "task: rating, metric: pearson, mean_of: [Mood]",
         "columns.2: only one of 'metric', 'mean_of', 'tasks' and 'change_from' says what a column holds"),
        ("task: rating, metric: pearson", "tasks: {mood: acc}", "metric of mood: no metric is called 'acc'"),
        ("task: rating, metric: pearson", "tasks: {mod: accuracy}", "task: no task is called 'mod'"),
        ("pearson", "pearson, reported: Accuracy", "columns.2: 'Accuracy' is not a word for pearson"),
        ("metric: pearson, label", "metric: pearson, because: x, label",
         "columns.2: 'because' explains why 'reported' and 'metric' differ, and here they do not"),
        ("pearson", "pearson, timing: batch-16", "columns.2: 'timing' is of a latency or a speed-up, not of 'pearson'"),
        ("pearson", "latency, timing: batch-0", "columns.2: there is no timing 'batch-0'"),
        ("pearson", "latency, subset: de", "columns.2: 'subset' is of a score, not of 'latency'"),
        *((place, f'{key}: "a{code}b", {place}', f"{where}.{key}: a line break or a control character stands in it")
          for place, where, keys in (("label: Mood", "columns.1", ("heading", "reported")),
                                     ("label: Vanilla KD", "rows.2", ("group", "quoted", "differs")))
          for key in keys
          for code in ("\\0", "\\e", "\\n\\n")),
        ("workflow run?", 'workflow run?\ncaption: "a\\eb"', "caption: a control character stands in it;"),
        ("run?", 'run?\nreported: "x | \\e"', "reported: a control character stands in it; write it without"),
        ("title: On the task\n", "", "title: Field required"),
        ("kind: scores\n", "", "kind: Field required"),
        ("label: Vanilla KD", "lable: Vanilla KD", "rows.2.lable: no key is called 'lable'; did you mean 'label'?"),
        ("columns:\n  - {task: mood, metric: accuracy, label: Mood}\n"
         "  - {task: rating, metric: pearson, label: Rating}", "columns: mood-and-rating",
         "columns: no list of columns is called 'mood-and-rating'; did you mean 'mood-and-ratings'?"),
    ]),
    Edits("papers/tiny/table2.yaml", [
        ("profiles", "profiles\nlength: 64", "length: timed rows of 64 tokens, and model 'encoder' takes 32"),
    ]),
    Edits("papers/tiny/table3.yaml", [
        ("of: [table1]", "of: [table9]", "of: no table is called 'table9'"),
        ("of: [table1]", "of: [table1, table1]", "of: 'table1' is listed twice"),
        ("table1]", "table1]\nreported: {table9: {below: 0.05}}", "reported: no table of 'of' is called 'table9'"),
        ("[table1]", "[table1]\nreported: {table1: {below: 0.05, not_significant: [[Vanilla KD, Atention]]}}",
         "reported.table1: no row that is tested is called 'Atention'; did you mean 'Attention'?"),
        ("[table1]", "[table1]\nreported: {table1: {below: 0.05, not_significant: [[A, A]]}}",
         "reported.table1: not_significant: 'A' and 'A' are not compared; name two rows of one group"),
        ("[table1]", "[table1]\nreported: {table1: {below: 0.05, among: {a: [A, B], b: [C, D]}, "
         "not_significant: [[B, A], [A, C]]}}", "reported.table1: not_significant: 'A' and 'C' are not compared"),
        ("[table1]", "[table1]\nreported: {table1: {below: 0.05, among: {a: [Attention]}}}",
         "reported.table1.among.a: Value should have at least 2 items after validation, not 1"),
        ("of: [table1]", "of: [table2]", "of: 'table2' is not a table of kind 'scores'"),
    ]),
]
# fmt: on
