"""Mistakes in tasks."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import TASK

# fmt: off
MISTAKES = [
    Edits(TASK, [
        ("[accuracy]", "[pearson]", "metric 'pearson' is not one of classification's: accuracy, f1, matthews"),
        ("metrics: [accuracy]", "metrics: [accuracy, accuracy]", "metrics: 'accuracy' is listed twice"),
        ("[accuracy]", "[Accuracy]", "metric 'Accuracy' is not one of classification's: accuracy, f1, matthews"),
        ("name: rated-sentences", "name: rated-sentence", "reader.name: no reader is called 'rated-sentence'"),
        ("file: rated.txt", "fil: rated.txt", "reader.options.fil: no key is called 'fil'; did you mean 'file'?"),
        ("file: rated.txt", "file: ../rated.txt", "reader.options.file: '../rated.txt' leaves its folder"),
        ("file: rated.txt", "file: /etc/passwd", "reader.options.file: '/etc/passwd' leaves its folder"),
        ("below: 0.5", "below: -1", "reader.options.neutral_below: Input should be greater than or equal to 0, not -1"),
        ("classification", "classifikation", "task_type: no task type is called 'classifikation'"),
        ("split: {seed: 1, test: 40, dev: 20}\n", "", "give 'reader' and 'split' (rows are drawn)"),
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
        ("pearson, spearman", "pearson, spearmann", "metric 'spearmann' is not one of regression's: pearson, spearman"),
    ]),
    Edits("tasks/rating.yaml", [
        ("label: 0.5", "label: glad", "give a number from -1000000 to 1000000, not 'glad'"),
        ("label: 0.5", "label: '0.5'", "give a number from -1000000 to 1000000, not '0.5'"),
        ("label: 0.5", "label: true", "give a number from -1000000 to 1000000, not True"),
        ("label: 0.5", "label: null", "give a number from -1000000 to 1000000, not None"),
        ("label: 0.5", "label: 1e300", "give a number from -1000000 to 1000000, not 1e+300"),
    ], at="sample.1.label: "),
]
# fmt: on
