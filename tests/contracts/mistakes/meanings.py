"""Values of the right type that mean nothing, contradict another key, or would be read as something else."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import CLAIMS, CORPUS, SOURCE, STUDENTS, TABLE, TASK

COMMIT = "a" * 40
HUB = f"licence: MIT\nhub: {{repository: a/b, repo_type: dataset, files: [x], commit: {COMMIT}}}"
PACKAGE = f"licence: MIT\npackage: x\nversion: '1'\ndistribution: sdist\nsha256: '{'0' * 64}'\nfolder: a"
BREAK = "a line break or a control character stands in it; write it on one line, without"

# fmt: off
MISTAKES = [
    Edits(CORPUS, "block: 16", [
        ("block: 16\njobs: {parts: 1000000000}",
         "jobs.parts: Input should be less than or equal to 10000, not 1000000000"),
    ]),
    Edits("models/encoder.yaml", "vocabulary: 90", [
        ("vocabulary: 90\ntokenizer: encoder", "tokenizer: leave it out; without it, a model has its own"),
    ]),
    Edits(SOURCE, "path: texts", [
        (HUB.replace("[x]", "[x, x]"), "hub.files: 'x' is listed twice"),
        (HUB.replace("[x]", '["a\\nb"]'), f"hub.files.1: {BREAK}"),
        (HUB.replace(COMMIT, "main"), "hub.commit: 'main' does not match the pattern"),
        (HUB.replace("a/b", "../b"), "hub.repository: '../b' does not match the pattern"),
        (PACKAGE.replace("'1'", "latest"), "version: 'latest' does not match the pattern"),
        (PACKAGE.replace("0'", "'"), "sha256: '00"),
        (PACKAGE.replace("folder: a", "folder: ../a"), "folder: '../a' leaves its folder; give a path inside it"),
        ('path: "te\\0xts"', f"path: {BREAK}"),
        ('path: "te\\nxts"', f"path: {BREAK}"),
    ]),
    Edits(STUDENTS, "{layers: [2, 4]}", [
        ("{student: tiny-kd}", "kd.initialisation.student: 'tiny-kd' starts from itself: tiny-kd <- tiny-kd"),
        ("{random: true, of: model}", "kd.initialisation: of: only where layers are copied, with 'layers' or"),
    ]),
    Edits(STUDENTS, "{objective: soft-labels}, {obj", [
        ("{objective: soft-labels}, {objective: soft-labels}, {obj",
         "kd.stages.1: terms.2: the same term stands above; give one of them the weight of both"),
    ]),
    Edits("protocols/short.yaml", "steps: 6", [
        ("steps: 6, decay_steps: 3", "schedule: decay_steps: 3 is below the 6 steps of the training"),
        ("steps: 6, lr_scheduler_type: constant_with_warmup, decay_steps: 30",
         "schedule: decay_steps: with 'constant_with_warmup' the rate does not fall; leave it out"),
    ]),
    Edits(TASK, "version: 1", [
        ("version: 1\ntrain_split: test",
         "evaluation_split: 'test' is what is trained on; its score would say nothing"),
        ("version: 1\ntrain_split: dev", "validation_split: 'dev' is what is trained on; its score would say nothing"),
        ("version: 1\nevaluation_split: train",
         "evaluation_split: 'train' is what is trained on; its score would say nothing"),
        ("version: 1\nvalidation_split: train",
         "validation_split: 'train' is what is trained on; its score would say nothing"),
        ("version: 1\nsubsets: [a, b]", "subsets: no split has any; write 'subsets: true' in one of 'splits', or"),
    ]),
    Edits(TASK, "text: a glad day", [
        ("text: ''", "give a text, not ''"),
        ("text: 3", "give a text, not 3"),
    ], at="sample.1.text: "),
    Edits(TASK, "labels: [sad, glad]", [
        ('labels: ["sad\\nx", glad]', f"labels.1: {BREAK}"),
        ('labels: ["sad\\u202ex", glad]', f"labels.1: {BREAK}"),
    ]),
    Edits(TASK, "title: Is", [
        ('"title\\n": x\ntitle: Is', "title\\n: no key is called 'title\\n'; did you mean 'title'?"),
        ("<<: 3\ntitle: Is", "line 1: not valid YAML (expected a mapping or list of mappings for merging"),
    ]),
    Edits(TASK, "file: rated.txt, ", [("", "reader.options.file: Field required")]),
    Edits(TABLE, "task: rating, metric: pearson,", [
        ("change_from: Rating,", "column 'Rating' would be computed from itself"),
        ("mean_of: [Rating],", "column 'Rating' would be computed from itself"),
        ("mean_of: [Mood, Rating],", "column 'Rating' would be computed from itself"),
    ]),
    Edits(TABLE, "label: Attention", [
        ('label: "Atten\\ntion"', f"rows.3.label: {BREAK}"),
        ('label: "Atten\\u0007tion"', f"rows.3.label: {BREAK}"),
    ]),
    Edits(CLAIMS, "compare: above", [
        ("compare: value\n  number: '1e400'", "kd-above-attention: '1e400' is not a number as papers print it"),
        ("compare: value\n  number: many", "kd-above-attention: 'many' is not a number as papers print it"),
    ]),
    Edits(CLAIMS, "rows: [Attention]", [
        ("rows: [Vanilla KD]", "kd-above-attention: row 'Vanilla KD', column 'Mood' of table1 is compared with itself"),
    ]),
    Edits("papers/tiny/table2.yaml", "kind: profiles", [
        ("kind: profiles\npublished: {tiny-kd: {Parameters (M): [-5]}}", "parameters is above 0, not -5"),
        ("kind: profiles\npublished: {tiny-kd: {Parameters (M): [0]}}", "parameters is above 0, not 0"),
    ], at="published.tiny-kd.Parameters (M): "),
    Edits(CLAIMS, "rows: [Vanilla KD], columns: [Mood]", [
        ("rows: [Vanilla KD, Vanilla KD], columns: [Mood]", "rows: 'Vanilla KD' is listed twice"),
        ("rows: [Vanilla KD], columns: [Mood, Mood]", "columns: 'Mood' is listed twice"),
    ], at="kd-above-attention.cells.1."),
    Edits("papers/tiny/figure1.yaml", "metric: accuracy", [
        ("metric: latency", "metric: 'latency' is of a model; give one of the task's metrics"),
    ]),
    Edits("papers/tiny/figure2.yaml", "metric: accuracy", [
        ("metric: parameters", "metric: 'parameters' is of a model; give one of the task's metrics"),
    ]),
    Edits("papers/tiny/figure2.yaml", "student: tiny-kd, label: Two", [
        ("student: tiny-teacher, label: Two", "the point of student 'tiny-teacher' stands twice"),
    ]),
]
# fmt: on
