"""Mistakes in tasks: those that draw their splits, and those whose splits have files."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import TASK

FILED = """\
title: A task with files
source: texts
task_type: classification
labels: [sad, glad]
metrics: [accuracy]
subsets: [one, two]
splits:
  train: {rows: 9}
  dev: {rows: {one: 4, two: 5}, subsets: true}
  test: {rows: 3, labelled: false}
read:
  local:
    format: tsv
    files: {train: train.tsv, dev: 'dev-{subset}.tsv', test: test.tsv}
    columns: {text: sentence, label: label}
    label_names: [down, up]
evaluation_split: dev
submission: {files: {test: Mine.tsv}, label_names: ['0', '1']}
max_length: 16
version: 1
sample:
  - {text: a glad day, label: glad}
  - {text: a sad day, label: sad}
"""

# one file from which all splits are drawn, whose labels are spelled as in the task
DRAWN = """\
title: A task with one file
source: texts
task_type: classification
labels: [sad, glad]
metrics: [macro-f1]
split: {seed: 1, test: 4, dev: 2}
read: {local: {format: csv, files: {all: all.csv}, columns: {text: sentence, label: label}}}
max_length: 16
version: 1
sample:
  - {text: a glad day, label: glad}
  - {text: a sad day, label: sad}
"""

# the same without subsets
PLAIN = (
    FILED.replace("subsets: [one, two]\n", "")
    .replace("{rows: {one: 4, two: 5}, subsets: true}", "{rows: 9}")
    .replace("'dev-{subset}.tsv'", "dev.tsv")
)

# with a further split, of the rows that are trained on
MORE = (
    PLAIN.replace("test: test.tsv", "more: train.tsv")
    .replace("test: {rows: 3, labelled: false}", "more: {rows: 9}")
    .replace("submission: {files: {test: Mine.tsv}, label_names: ['0', '1']}\n", "")
)

# of extractive question answering
SPANS = (ROOT / "workflow/tasks/squad.yaml").read_text().replace("source: squad", "source: texts")
# fmt: off
MISTAKES = [
    # rows are drawn
    Edits(TASK, [
        ("[accuracy]", "[pearson]", "metric 'pearson' is not one of classification's: accuracy, balanced-accu"),
        ("metrics: [accuracy]", "metrics: [accuracy, accuracy]", "metrics: 'accuracy' is listed twice"),
        ("[accuracy]", "[Accuracy]", "metric 'Accuracy' is not one of classification's: accuracy, balanced-accu"),
        ("format: ratings", "format: rating", "read.local.format: no format is called 'rating'"),
        ("{neutral_below", "{neutral", "read.local.options.neutral: no key is called 'neutral'"),
        ("all: rated.txt", "all: ../rated.txt", "read.local.files.all: '../rated.txt' leaves its folder"),
        ("all: rated.txt", "all: /etc/passwd", "read.local.files.all: '/etc/passwd' leaves its folder"),
        ("below: 0.5", "below: -1", "read.local.options.neutral_below: Input should be greater than or equal to 0, no"),
        ("classification", "classifikation", "task_type: no task type is called 'classifikation'"),
        ("split: {seed: 1, test: 40, dev: 20}\n", "", "give 'split' (one file, rows are drawn) or"),
        ("version: 1", "version: 1\nevaluation_split: tset", "evaluation_split: no split is called 'tset'"),
        ("version: 1", "version: 1\nmetric_for_best_model: acuracy",
         "metric_for_best_model: no metric is called 'acuracy'; did you mean 'accuracy'?"),
        ("version: 1", "version: 99999999999999999999999", "version: Input should be less than or equal to 100000000"),
        ("version: 1", "version: 1\njobs: {parts: 2}", "jobs.parts: no key is called 'parts'"),
        ("version: 1", "version: 1\nwindows: {overlap: 1, question: 2}", "'windows' is of no use for classification"),
        ("version: 1", "version: 1\nsubsets: [a, a]", "subsets: 'a' is listed twice"),
        ("version: 1", "version: 1\ntrain_split: tran", "train_split: no split is called 'tran'"),
        ("version: 1", "version: 1\nsubmission: {files: {tst: a.tsv}}", "submission.files: no split is called 'tst'"),
        ("glad]\nmetrics: [accuracy", "glad, calm]\nmetrics: [f1", "metric 'f1' is of two classes, and the task has 3"),
        ("labels: [sad, glad]", "labels: [sad]", "'labels' takes two or more names for classification"),
        ("labels: [sad, glad]", "labels: [sad, sad]", "labels: 'sad' is listed twice"),
        ("label: glad", "label: happy", "sample.1.label: no label is called 'happy'; there are: glad, sad"),
        ("text: a glad day", "txt: a glad day", "sample.1: no field is called 'txt'; did you mean 'text'?"),
        ("{text: a sad day, label: sad}", "{text: a sad day}", "sample.2: 'label' is missing"),
        ("max_length: 16", "max_length: 64", "max_length: rows of 64 tokens, and model 'encoder' takes 32"),
        ("max_length: 16", "max_length: 2", "max_length: Input should be greater than 2, not 2"),
        ("test: 40", "test: 0", "split.test: Input should be greater than 0, not 0"),
        ("title: Is", "- title: Is", "line 2: not valid YAML (did not find expected '-' indicator)"),
        ("task_type: classification\n", "", "task_type: Field required"),
        ("title:", "- title:", "line 2: not valid YAML (did not find expected '-' indicator)"),
    ]),
    Edits("tasks/rating.yaml", [
        ("task_type: regression", "task_type: regression\nlabels: [a, b]", "'labels' takes none for regression"),
        ("task_type: regression", "task_type: regression\nbounds: [1, 0]", "bounds: 1 is not below 0"),
        ("regression", "regression\nbounds: [0, 5]", "sample.2.label: give a number from 0 to 5, not -0.5"),
        ("pearson, spearman", "pearson, spearmann", "metric 'spearmann' is not one of regression's: neg-mean-squared"),
    ]),
    Edits("tasks/rating.yaml", [
        ("label: 0.5", "label: glad", "give a number from -1000000 to 1000000, not 'glad'"),
        ("label: 0.5", "label: '0.5'", "give a number from -1000000 to 1000000, not '0.5'"),
        ("label: 0.5", "label: true", "give a number from -1000000 to 1000000, not True"),
        ("label: 0.5", "label: null", "give a number from -1000000 to 1000000, not None"),
        ("label: 0.5", "label: 1e300", "give a number from -1000000 to 1000000, not 1e+300"),
    ], at="sample.1.label: "),
    # rows are drawn from a file of any format
    Edits("tasks/drawn.yaml", [
        ("all: all.csv", "train: all.csv", "read.local.files: no split is called 'train'; there are: all"),
        ("split: {seed: 1, test: 4, dev: 2}\n", "", "give 'split' (one file, rows are drawn) or"),
        ("split:", "splits: {all: {rows: 9}}\nsplit:", "give 'split' (one file, rows are drawn) or"),
        ("all: all.csv", "all: 'all-{subset}.csv'", "read.local.files.all: '{subset}' is for splits with subsets, and"),
    ], before=DRAWN),
    # splits have files
    Edits("tasks/filed.yaml", [
        ("train: {rows: 9}", "train: {rows: 9, unlabelled_sample: true}",
         "splits.train.unlabelled_sample: a training needs the labels of train_split; leave it out here"),
        ("train: {rows: 9}", "train: {rows: 9, source: txts}", "splits.train.source: no source is called 'txts'"),
        ("train: {rows: 9", "train: {rows: 0", "splits.train.rows: give greater than 0 or a list or a mapping, not 0"),
        ("{rows: 9}", "{rows: -9}", "splits.train.rows: give greater than 0 or a list or a mapping, not -9"),
        ("{rows: 9}", "{rows: []}", "splits.train.rows: give a whole number or Value should have at least 1 item"),
        ("{rows: 9}", "{rows: nine}", "splits.train.rows: give a whole number or a list or a mapping, not 'nine'"),
        ("train: {rows: 9}", "train: {}", "splits.train.rows: Field required"),
        ("subsets: true}", "subsets: true, unlabelled_sample: true}",
         "splits.dev.unlabelled_sample: a training needs the labels of validation_split; leave it out here"),
        ("format: tsv", "format: csv\n    options: {delimiter: ''}",
         "read.local.options.delimiter: '' does not match the pattern ^[^\\r\\n]$; write one character"),
        ("format: tsv", "format: csv\n    options: {delimiter: ';;'}",
         "read.local.options.delimiter: ';;' does not match the pattern ^[^\\r\\n]$; write one character"),
        ("format: tsv", "format: csv\n    options: {quotechar: ''}",
         "read.local.options.quotechar: '' does not match the pattern ^[^\\r\\n]$; write one character"),
        ("format: tsv", "format: csv\n    options: {encoding: utf-9}",
         "read.local.options.encoding: give an encoding such as utf-8 or latin-1, not 'utf-9'"),
        ("format: tsv", "format: csv\n    options: {encoding: base64}",
         "read.local.options.encoding: give an encoding such as utf-8 or latin-1, not 'base64'"),
        ("format: tsv", "format: csv\n    options: {column_names: [a, a]}",
         "read.local.options.column_names: 'a' is listed twice"),
        ("format: tsv", "format: tsv\n    name: plain", "read.local.name: only data sets of the hub have"),
        ("format: tsv", "format: tsvv", "read.local.format: no format is called 'tsvv'; did you mean 'tsv'?"),
        ("format: tsv", "format: tsv\n    options: {heading: true}", "read.local.options.heading: no key is called"),
        ("columns: {text: sentence,", "columns: {txt: sentence,", "read.local.columns: no field is called 'txt'"),
        ("columns: {text: sentence,", "columns: {", "read.local.columns: 'text' is missing"),
        ("files: {train: train.tsv", "files: {trian: train.tsv", "read.local.files: no split is called 'trian'"),
        ("train: train.tsv", "train: ../train.tsv", "read.local.files.train: '../train.tsv' leaves its folder"),
        ("train: train.tsv", "train: /etc/passwd", "read.local.files.train: '/etc/passwd' leaves its folder"),
        ("train: train.tsv", "train: ''", "read.local.files.train: String should have at least 1 character, not ''"),
        ("'dev-{subset}.tsv'", "dev.tsv",
         "read.local.files.dev: '{subset}' is for splits with subsets, and for them all"),
        ("{one: 4, two: 5}", "{one: 4}", "splits.dev.rows: give a number for each of one, two"),
        ("subsets: [one, two]", "subsets: []", "splits.dev.subsets: the task names no subsets"),
        ("subsets: [one, two]", "subsets: [one, one]", "subsets: 'one' is listed twice"),
        ("    label_names: [down, up]", "    label_names: [down]", "read.local.label_names: 1 names for 2 labels"),
        ("label_names: ['0', '1']", "label_names: ['0']", "submission.label_names: 1 names for 2 labels"),
        ("label_names: ['0', '1']", "label_names: ['0', '0']", "submission.label_names: '0' is listed twice"),
        ("{test: Mine.tsv}", "{tset: Mine.tsv}", "submission.files: no split is called 'tset'; did you mean 'test'?"),
        ("{test: Mine.tsv}", "{test: Mine.tsv, train: Mine.tsv}", "submission.files: file 'Mine.tsv' stands twice"),
        ("evaluation_split: dev", "evaluation_split: test", "evaluation_split: split 'test' has no labels"),
        ("up]", "up]\n    broken: {train: -1}", "read.local.broken.train: Input should be greater than or equal to 0"),
        ("up]", "up]\n    broken: {tran: 1}", "read.local.broken: no split is called 'tran'; did you mean 'train'?"),
        ("up]", "up]\n    changes: {tran: {}}", "read.local.changes: no split is called 'tran'; did you mean 'train'?"),
        ("sentence, label: label}", "sentence, label: sentence}", "read.local.columns: column 'sentence' stands twice"),
        ("sentence, label: label", "0, label: 1", "read.local.columns.text: give a text or greater than or equal to 1"),
        ("label: label}", "label: true}", "read.local.columns.label: give a text or a whole number, not True"),
        ("label: label}", "label: 1.5}", "read.local.columns.label: give a text or a whole number, not 1.5"),
        ("read:", "split: {seed: 1, test: 1, dev: 1}\nread:", "give 'split' (one file, rows are drawn) or"),
    ], before=FILED),
    Edits("tasks/filed.yaml", [
        ("dev: dev.tsv", "dev: train.tsv", "read.local.files.dev: 'train.tsv' is what is trained on, too"),
    ], before=PLAIN),
    Edits("tasks/filed.yaml", [
        ("evaluation_split: dev", "evaluation_split: more",
         "read.local.files.more: 'train.tsv' is what is trained on, too; its score would say nothing"),
    ], before=MORE),
    Edits("tasks/filed.yaml", [
        ("windows: {overlap: 128, question: 64}\n", "", "'windows' is missing: span cuts long contexts, as {overlap"),
        ("overlap: 128", "overlap: 320", "windows: overlap and question together leave no room in max_length"),
        ("overlap: 128", "overlap: 128, stride: 8", "windows.stride: no key is called 'stride'"),
        ("metrics: [f1, exact]", "metrics: [f1, best-f1]", "metric 'best-f1' is not one of span's: f1, exact"),
        ("train_split: train", "train_split: train\nsubsets: [en, fr]", "subsets: no language of span is called 'fr'"),
        ("type: span\n", "type: span-or-none\nsubsets: [en]\n", "subsets: no language of span-or-none is called 'en'"),
        ("context: context, ", "", "read.local.columns: 'context' is missing"),
    ], before=SPANS),
]
# fmt: on
