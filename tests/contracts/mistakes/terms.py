"""Mistakes in the terms of a loss: objectives, options, mappings, weights."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import STUDENTS

# fmt: off
MISTAKES = [
    Edits(STUDENTS, [
        ("soft-labels", "soft-label", "kd.stages.1.terms.1.objective: no objective is called 'soft-label'"),
        ("mapping: uniform", "mapping: unifrom", "attention.stages.1.terms.1.mapping: no mapping is called 'unifrom'"),
        ("uniform", "{single: {layer: 5}}", "attention.stages.1.terms.1.mapping: teacher has no layer 5"),
        ("mapping: uniform", "mapping: 3", "attention.stages.1.terms.1.mapping: give a text or a mapping, not 3"),
        ("objective: soft-labels}, {objective: supervised, weight: 0.5}", "objective: masked-lm}",
         "kd.stages.1: terms.1: 'masked-lm' reads the masked tokens of a corpus, and this stage is on the task"),
        ("weight: 0.5", "weight: 1e-40", "kd.stages.1.terms.2.weight: Input should be greater than or equal to"),
        ("weight: 0.5", "weight: .nan", "line 7: .nan is no number in decimal digits; write one such as 0.5 or 1e-3"),
        ("weight: 0.5", "weight: 1e308", "kd.stages.1.terms.2.weight: Input should be less than or equal to"),
        ("weight: 0.5", "weight: 1_0", "line 7: YAML reads 1_0 as another number; write it with decimal digits only"),
        ("weight: 0.5", "weight:", "line 7: not valid YAML (found unexpected ':')"),
        ("objective: soft-labels}], steps_factor", "objective: supervised}], steps_factor",
         "predicting.stages.1: terms.1: 'supervised' reads the labels of a task, and this stage is on a corpus"),
        ("mapping: last", "mapping: initial",
         "narrow.stages.1.terms.1.mapping: mapping 'initial' is for students that start from teacher layers"),
        ("objective: attention-kl, mapping: uniform", "objective: attention-kl",
         "attention.stages.1.terms.1: mapping: objective 'attention-kl' needs a mapping, such as 'last'"),
        ("{objective: soft-labels}", "{objective: soft-labels, mapping: last}",
         "kd.stages.1.terms.1: mapping: objective 'soft-labels' is on the output: leave out 'mapping'"),
        ("{objective: soft-labels}", "{objective: soft-labels, options: {temprature: 2.0}}",
         "kd.stages.1.terms.1.options.temprature: no key is called 'temprature'; did you mean 'temperature'?"),
        ("soft-labels", "soft-labels, options: {temperature: 1e999}", "line 7: 1e999 is too large"),
        ("weight: 0.5", "not_on: [mod]", "kd.stages.1.terms.2.not_on.1: no task is called 'mod'; did you mean 'mood'?"),
        ("objective: hidden-sequence, mapping: last", "objective: relations, mapping: last, options: {heads: 5}",
         "narrow.stages.1.terms.1.options.heads: objective 'relations': the student's width 16 cannot be cut into 5"),
        ("objective: hidden-sequence", "objective: attention-mse",
         "narrow.stages.1.terms.1: objective 'attention-mse': the student has 2 attention heads and its teacher 3"),
    ]),
    Edits(STUDENTS, [
        ("uniform", "uniform, options: {floor: 1}", "options.floor: Input should be less than 1, not 1"),
        ("objective: attention-kl, mapping: uniform", "objective: relations, mapping: last, options: {heads: 0}",
         "options.heads: objective 'relations': the student's width 24 cannot be cut into 0 heads"),
        ("attention-kl, mapping: uniform", "relations, mapping: last, options: {heads: 3, pairs: [q-q, q-q]}",
         "options.pairs: 'q-q' is listed twice"),
        ("attention-kl, mapping: uniform", "relations, mapping: last, options: {heads: 3, weights: [1, 2]}",
         "options.weights: objective 'relations': there are 3 'pairs' and 2 'weights'; give as many of each"),
        ("objective: attention-kl, mapping: uniform", "objective: attention-kl, mapping: {single: {layer: 0}}",
         "mapping: layer 0 is the output of the embeddings, which has no keys, queries"),
        ("uniform", "{single: {layer: -1}}", "mapping: teacher has no layer -1; its layers go from 0 to 4"),
        ("uniform", "{last: {layer: 3}}", "mapping: last.layer: no key is called 'layer'; there are: none"),
        ("uniform", "{listed: {pairs: [[3, 1]]}}", "mapping: student has no layer 3; its layers go from 0 to 2"),
        ("uniform", "{last: {}, uniform: {}}", "mapping: a term has one mapping, not 2; write its name"),
        ("mapping: uniform", "mapping: [last]", "mapping: give a text or a mapping, not ['last']"),
        ("uniform", "{}", "mapping: a term has one mapping, not 0; write its name, or {name: {option: value}}"),
        ("attention-kl, mapping: uniform", "attention-kl, mapping: {listed: {pairs: [[0, 0]]}}",
         "mapping: layer 0 is the output of the embeddings, which has no keys, queries"),
        ("attention-kl, mapping: uniform", "mha-output-relation, mapping: last, options: {splits: 5}",
         "options.splits: objective 'mha-output-relation': the student's width 24 cannot be cut into 5 splits"),
    ], at="attention.stages.1.terms.1."),
]
# fmt: on
