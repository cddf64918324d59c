"""Values of the right type that mean nothing, contradict another key, or would be read as something else."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import CLAIMS, CORPUS, PROTOCOL, SOURCE, STUDENTS, TABLE, TASK

COMMIT = "a" * 40
HUB = f"licence: MIT\nhub: {{repository: a/b, repo_type: dataset, files: [x], commit: {COMMIT}}}"
PACKAGE = f"licence: MIT\npackage: x\nversion: '1'\ndistribution: sdist\nsha256: '{'0' * 64}'\nfolder: a"
BREAK = "a line break or a control character stands in it; write it on one line, without"

# fmt: off
MISTAKES = [
    Edits(CORPUS, [("block: 16", "block: 16\njobs: {parts: 10001}", "jobs.parts: Input should be less than")]),
    Edits("models/encoder.yaml", [("vocabulary: 90", "vocabulary: 90\ntokenizer: encoder", "tokenizer: leave it out")]),
    Edits(SOURCE, [("path: texts", *row) for row in [
        (HUB.replace("[x]", "[x, x]"), "hub.files: 'x' is listed twice"),
        (HUB.replace("[x]", '["a\\nb"]'), f"hub.files.1: {BREAK}"),
        (HUB.replace(COMMIT, "main"), "hub.commit: 'main' does not match the pattern"),
        (HUB.replace("a/b", "../b"), "hub.repository: '../b' does not match the pattern"),
        (PACKAGE.replace("'1'", "latest"), "version: 'latest' does not match the pattern"),
        (PACKAGE.replace("0'", "'"), "sha256: '00"),
        (PACKAGE.replace("folder: a", "folder: ../a"), "folder: '../a' leaves its folder; give a path inside it"),
        ('path: "te\\0xts"', f"path: {BREAK}"),
        ('path: "te\\nxts"', f"path: {BREAK}"),
    ]]),
    Edits(STUDENTS, [
        ("{layers: [2, 4]}", "{student: tiny-kd}",
         "kd.initialisation.student: 'tiny-kd' starts from itself: tiny-kd <- tiny-kd"),
        ("{layers: [2, 4]}", "{random: true, of: model}",
         "kd.initialisation: of: only where layers are copied, with 'layers' or"),
        ("{obj", "{objective: soft-labels}, {obj", "kd.stages.1: terms.2: the same term stands above"),
    ]),
    Edits(PROTOCOL, [
        ("steps: 6", "steps: 6, decay_steps: 3", "schedule: decay_steps: 3 is below the 6 steps of the training"),
        ("steps: 6", "steps: 6, lr_scheduler_type: constant_with_warmup, decay_steps: 30",
         "schedule: decay_steps: with 'constant_with_warmup' the rate does not fall; leave it out"),
    ]),
    Edits(TASK, [
        ("version: 1", "version: 1\ntrain_split: test", "evaluation_split: 'test' is what is trained on"),
        ("version: 1", "version: 1\ntrain_split: dev", "validation_split: 'dev' is what is trained on"),
        ("version: 1", "version: 1\nevaluation_split: train", "evaluation_split: 'train' is what is trained on"),
        ("version: 1", "version: 1\nvalidation_split: train", "validation_split: 'train' is what is trained on"),
        ("version: 1", "version: 1\nsubsets: [a, b]", "subsets: no split has any"),
        ("text: a glad day", "text: ''", "sample.1.text: give a text, not ''"),
        ("text: a glad day", "text: 3", "sample.1.text: give a text, not 3"),
        ("[sad", '["sad\\nx"', "labels.1: a line break or a control character stands in it"),
        ("[sad", '["sad\\u202ex"', "labels.1: a line break or a control character stands in it"),
        ("title: Is", '"title\\n": x\ntitle: Is', "title\\n: no key is called 'title\\n'; did you mean 'title'?"),
        ("title: Is", "<<: 3\ntitle: Is", "line 1: not valid YAML (expected a mapping or list of mappings for merging"),
        ("files: {all: rated.txt}, ", "", "read.local.files: Field required"),
    ]),
    Edits(TABLE, [
        ("task: rating, metric: pearson,", "change_from: Rating,", "column 'Rating' would be computed from itself"),
        ("task: rating, metric: pearson,", "mean_of: [Rating],", "column 'Rating' would be computed from itself"),
        ("task: rating, metric: pearson,", "mean_of: [Mood, Rating],", "column 'Rating' would be computed from itself"),
        ("label: Attention", 'label: "Atten\\ntion"', "rows.3.label: a line break or a control character stands in it"),
        ("Attention", '"Atten\\u0007tion"', "rows.3.label: a line break or a control character stands in it"),
    ]),
    Edits(CLAIMS, [
        ("compare: above", "compare: value\n  number: '1e400'",
         "kd-above-attention: '1e400' is not a number as papers report it"),
        ("compare: above", "compare: value\n  number: many",
         "kd-above-attention: 'many' is not a number as papers report it"),
        ("rows: [Attention]", "rows: [Vanilla KD]",
         "kd-above-attention: row 'Vanilla KD', column 'Mood' of table1 is compared with itself"),
        ("[Vanilla KD],", "[Vanilla KD, Vanilla KD],", "kd-above-attention.cells.1.rows: 'Vanilla KD' is listed twice"),
        (", columns: [Mood]", ", columns: [Mood, Mood]", "kd-above-attention.cells.1.columns: 'Mood' is listed twice"),
    ]),
    Edits("papers/tiny/table2.yaml", [
        ("profiles", "profiles\nmeans: {tiny-kd: {Parameters (M): [-5]}}", "means.tiny-kd.Parameters"),
        ("profiles", "profiles\nmeans: {tiny-kd: {Parameters (M): [0]}}", "means.tiny-kd.Parameters"),
    ]),
    Edits("papers/tiny/figure1.yaml", [
        ("metric: accuracy", "metric: latency", "metric: 'latency' is of a model; give one of the task's metrics"),
    ]),
    Edits("papers/tiny/figure2.yaml", [
        ("metric: accuracy", "metric: parameters", "metric: 'parameters' is of a model"),
        ("student: tiny-kd, label", "student: tiny-teacher, label", "the point of student 'tiny-teacher' stands twice"),
    ]),
]
# fmt: on
