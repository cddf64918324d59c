"""Mistakes in the terms of a loss: objectives, options, mappings, weights."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits

# fmt: off
MISTAKES = [
    Edits("papers/tiny/students.yaml", "objective: soft-labels", [
        ("objective: soft-label",
         "kd.stages.1.terms.1: no objective is called 'soft-label'; did you mean 'soft-labels'?"),
    ]),
    Edits("papers/tiny/students.yaml", "mapping: uniform", [
        ("mapping: unifrom",
         "attention.stages.1.terms.1.mapping: no mapping is called 'unifrom'; did you mean 'uniform'?"),
        ("mapping: {single: {layer: 5}}",
         "attention.stages.1.terms.1.mapping: teacher has no layer 5; its layers go from 0 to 4"),
        ("mapping: {single: {depth: 5}}",
         "attention.stages.1.terms.1.mapping: no option of mapping 'single' is called 'depth'; there are: layer"),
        ("mapping: 3", "attention.stages.1.terms.1.mapping: give a text or a mapping, not 3"),
        ("mapping: {single: {layer: top}}",
         "attention.stages.1.terms.1.mapping: [2, 'top'] is no pair of layers; layers are whole numbers"),
    ]),
    Edits("papers/tiny/students.yaml", "objective: soft-labels}, {objective: supervised, weight: 0.5}", [
        ("objective: masked-lm}",
         "kd.stages.1.terms.1.objective: 'masked-lm' reads the masked tokens of a corpus, "
         "and this stage is on the task"),
    ]),
    Edits("papers/tiny/students.yaml", "weight: 0.5", [
        ("weight: 1e-40",
         "kd.stages.1.terms.2.weight: Input should be greater than or equal to 0.000000001, not 1e-40"),
    ]),
    Edits("papers/tiny/students.yaml", "objective: soft-labels}], steps_factor", [
        ("objective: supervised}], steps_factor",
         "predicting.stages.1.terms.1.objective: 'supervised' reads the labels of a task, "
         "and this stage is on a corpus"),
    ]),
    Edits("papers/tiny/students.yaml", "mapping: last", [
        ("mapping: initial",
         "narrow.stages.1.terms.1.mapping: mapping 'initial' is for students that start from teacher layers; "
         "write 'initialisation: {layers: [...]}' or 'truncated: true', or choose another mapping"),
    ]),
    Edits("papers/tiny/students.yaml", "objective: attention-kl, mapping: uniform", [
        ("objective: attention-kl",
         "attention.stages.1.terms.1.mapping: objective 'attention-kl' needs a mapping, such as 'last'"),
        ("objective: attention-kl, mapping: uniform, options: {floor: 1}",
         "attention.stages.1.terms.1.options: option 'floor' of objective 'attention-kl' must be at least 0 "
         "and below 1, not 1"),
        ("objective: attention-kl, mapping: uniform, options: {floor: -0.1}",
         "attention.stages.1.terms.1.options: option 'floor' of objective 'attention-kl' must be at least 0 "
         "and below 1, not -0.1"),
        ("objective: relations, mapping: last, options: {heads: 0}",
         "attention.stages.1.terms.1.options.heads: objective 'relations': the student's width 24 cannot be cut "
         "into 0 heads"),
        ("objective: relations, mapping: last, options: {heads: 3, pairs: []}",
         "attention.stages.1.terms.1.options: option 'pairs' of objective 'relations' is an empty list; "
         "leave it out"),
        ("objective: relations, mapping: last, options: {heads: 3, pairs: [q-q, q-q]}",
         "attention.stages.1.terms.1.options: option 'pairs' of objective 'relations' lists 'q-q' twice"),
        ("objective: relations, mapping: last, options: {heads: 3, pairs: q-q}",
         "attention.stages.1.terms.1.options: option 'pairs' of objective 'relations' takes a list, not 'q-q'"),
        ("objective: relations, mapping: last, options: {heads: 3, weights: [1, 2]}",
         "attention.stages.1.terms.1.options.weights: objective 'relations': there are 3 'pairs' and 2 "
         "'weights'; give as many of each"),
        ("objective: relations, mapping: last, options: {heads: 3, weights: [1, a, 2]}",
         "attention.stages.1.terms.1.options: option 'weights' of objective 'relations' takes a list of "
         "numbers, not [1, 'a', 2]"),
        ("objective: relations, mapping: last, options: {heads: 3, weights: [1, -1, 2]}",
         "attention.stages.1.terms.1.options: option 'weights' of objective 'relations' must be at least 0 "
         "and at most 1000000, not -1"),
        ("objective: relations, mapping: last, options: {heads: 3.5}",
         "attention.stages.1.terms.1.options: option 'heads' of objective 'relations' takes a whole number, not 3.5"),
        ("objective: relations, mapping: last, options: {heads: true}",
         "attention.stages.1.terms.1.options: option 'heads' of objective 'relations' takes a whole number, "
         "not True"),
        ("objective: relations, mapping: last, options: []",
         "attention.stages.1.terms.1.options: give a mapping, not a list"),
        ("objective: mha-output-relation, mapping: last, options: {seed: -1}",
         "attention.stages.1.terms.1.options: option 'seed' of objective 'mha-output-relation' must be at "
         "least 0 and below 4294967296, not -1"),
        ("objective: contrast, mapping: emd, options: {bank: 1}",
         "attention.stages.1.terms.1.options: option 'bank' of objective 'contrast' must be at least 2 and "
         "at most 100000000, not 1"),
        ("objective: contrast, mapping: emd, options: {momentum: 1}",
         "attention.stages.1.terms.1.options: option 'momentum' of objective 'contrast' must be at least 0 "
         "and below 1, not 1"),
        ("objective: contrast, mapping: emd, options: {negatives: -8}",
         "attention.stages.1.terms.1.options: option 'negatives' of objective 'contrast' must be at least 1 "
         "and at most 1000000, not -8"),
        ("objective: emd, mapping: emd, options: {temperature: 0}",
         "attention.stages.1.terms.1.options: option 'temperature' of objective 'emd' must be at least 0.001 "
         "and at most 1000, not 0"),
        ("objective: emd, mapping: {emd: {embeddings: 1}}",
         "attention.stages.1.terms.1.mapping: option 'embeddings' of mapping 'emd' takes true or false, not 1"),
        ("objective: attention-kl, mapping: {single: {layer: 0}}",
         "attention.stages.1.terms.1.mapping: layer 0 is the output of the embeddings, which has no keys, "
         "queries; objective 'attention-kl' takes layers from 1 on"),
        ("objective: attention-kl, mapping: {single: {layer: 2.0}}",
         "attention.stages.1.terms.1.mapping: [2, 2.0] is no pair of layers; layers are whole numbers"),
        ("objective: attention-kl, mapping: {single: {layer: true}}",
         "attention.stages.1.terms.1.mapping: [2, True] is no pair of layers; layers are whole numbers"),
        ("objective: attention-kl, mapping: {single: {layer: -1}}",
         "attention.stages.1.terms.1.mapping: teacher has no layer -1; its layers go from 0 to 4"),
        ("objective: attention-kl, mapping: {single: {}}",
         "attention.stages.1.terms.1.mapping: mapping 'single' needs the option 'layer'; write {single: "
         "{layer: ...}}"),
        ("objective: attention-kl, mapping: {single: 3}",
         "attention.stages.1.terms.1.mapping.single: give a mapping, not 3"),
        ("objective: attention-kl, mapping: {last: {layer: 3}}",
         "attention.stages.1.terms.1.mapping: no option of mapping 'last' is called 'layer'; there are: none"),
        ("objective: attention-kl, mapping: {listed: {pairs: [[1, 2], [1, 2]]}}",
         "attention.stages.1.terms.1.mapping: the pair [1, 2] is listed twice; name each once; terms have weights"),
        ("objective: attention-kl, mapping: {listed: {pairs: []}}",
         "attention.stages.1.terms.1.mapping: mapping 'listed' lists no pair; write [student layer, teacher "
         "layer] for each"),
        ("objective: attention-kl, mapping: {listed: {pairs: [1, 2]}}",
         "attention.stages.1.terms.1.mapping: 1 is no pair of layers; write [student layer, teacher layer]"),
        ("objective: attention-kl, mapping: {listed: {pairs: [[1, 2.5]]}}",
         "attention.stages.1.terms.1.mapping: [1, 2.5] is no pair of layers; layers are whole numbers"),
        ("objective: attention-kl, mapping: {listed: {pairs: [[3, 1]]}}",
         "attention.stages.1.terms.1.mapping: student has no layer 3; its layers go from 0 to 2"),
        ("objective: attention-kl, mapping: {uniform-consecutive: {disjoint: maybe}}",
         "attention.stages.1.terms.1.mapping: option 'disjoint' of mapping 'uniform-consecutive' takes true "
         "or false, not 'maybe'"),
        ("objective: attention-kl, mapping: {last: {}, uniform: {}}",
         "attention.stages.1.terms.1.mapping: a term has one mapping, not 2; write its name, or {name: "
         "{option: value}}"),
        ("objective: attention-kl, mapping: [last]",
         "attention.stages.1.terms.1.mapping: give a text or a mapping, not ['last']"),
        ("objective: attention-kl, mapping: {}",
         "attention.stages.1.terms.1.mapping: a term has one mapping, not 0; write its name, or {name: "
         "{option: value}}"),
        ("objective: attention-kl, mapping: {listed: {pairs: [[0, 0]]}}",
         "attention.stages.1.terms.1.mapping: layer 0 is the output of the embeddings, which has no keys, "
         "queries; objective 'attention-kl' takes layers from 1 on"),
        ("objective: relations, mapping: last, options: {heads: 3, normaliser: sums}",
         "attention.stages.1.terms.1.options: no normaliser of objective 'relations' is called 'sums'; did "
         "you mean 'sum'?"),
        ("objective: relations, mapping: last, options: {heads: 3, pairs: [q-q, q-w]}",
         "attention.stages.1.terms.1.options: no pairs of objective 'relations' is called 'q-w'; did you "
         "mean 'q-v'?"),
        ("objective: hidden-cls, mapping: last, options: {map: allways}",
         "attention.stages.1.terms.1.options: no map of objective 'hidden-cls' is called 'allways'; did you "
         "mean 'always'?"),
        ("objective: mha-output-relation, mapping: last, options: {splits: 5}",
         "attention.stages.1.terms.1.options.splits: objective 'mha-output-relation': the student's width 24 "
         "cannot be cut into 5 splits; both widths must be multiples of the number; set 'splits'"),
        ("objective: value-relation, mapping: last, options: {floor: high}",
         "attention.stages.1.terms.1.options: option 'floor' of objective 'value-relation' takes a number, "
         "not 'high'"),
        ("objective: direct, mapping: last, options: {heads: many}",
         "attention.stages.1.terms.1.options: option 'heads' of objective 'direct' takes a whole number, not 'many'"),
    ]),
    Edits("papers/tiny/students.yaml", "{objective: soft-labels}", [
        ("{objective: soft-labels, mapping: last}",
         "kd.stages.1.terms.1.mapping: objective 'soft-labels' is on the output: leave out 'mapping'"),
        ("{objective: soft-labels, options: {temprature: 2.0}}",
         "kd.stages.1.terms.1.options: no option of objective 'soft-labels' is called 'temprature'; did you "
         "mean 'temperature'?"),
        ("{objective: soft-labels, options: {temperature: hot}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not 'hot'"),
        ("{objective: soft-labels, options: {temperature: 0}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' must be at least "
         "0.001 and at most 1000, not 0"),
        ("{objective: soft-labels, options: {temperature: -2}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' must be at least "
         "0.001 and at most 1000, not -2"),
        ("{objective: soft-labels, options: {temperature: .inf}}",
         "line 7: .inf is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
        ("{objective: soft-labels, options: {temperature: '2'}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not '2'"),
        ("{objective: soft-labels, options: {temperature: true}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not True"),
        ("{objective: soft-labels, options: {temperature: 1e999}}",
         "line 7: 1e999 is too large; numbers go up to 1e308"),
        ("{objective: soft-labels, options: {temperature: [1]}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not [1]"),
        ("{objective: soft-labels, options: {temperature: 1e-30}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' must be at least "
         "0.001 and at most 1000, not 1e-30"),
        ("{objective: soft-labels, options: {squared: 1}}",
         "kd.stages.1.terms.1.options: option 'squared' of objective 'soft-labels' takes true or false, not 1"),
        ("{objective: soft-labels, options: {squared: yes please}}",
         "kd.stages.1.terms.1.options: option 'squared' of objective 'soft-labels' takes true or false, not "
         "'yes please'"),
        ("{objective: soft-labels, options: {temperature: null}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not None"),
        ("{objective: soft-labels, options: {temperature: {a: 1}}}",
         "kd.stages.1.terms.1.options: option 'temperature' of objective 'soft-labels' takes a number, not {'a': 1}"),
    ]),
    Edits("papers/tiny/students.yaml", "weight: 0.5", [
        ("weight: 0", "kd.stages.1.terms.2.weight: Input should be greater than or equal to 0.000000001, not 0"),
        ("weight: -1", "kd.stages.1.terms.2.weight: Input should be greater than or equal to 0.000000001, not -1"),
        ("weight: .inf",
         "line 7: .inf is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
        ("weight: .nan",
         "line 7: .nan is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
        ("weight: 'nan'", "kd.stages.1.terms.2.weight: Input should be a valid number, not 'nan'"),
        ("weight: true", "kd.stages.1.terms.2.weight: Input should be a valid number, not True"),
        ("weight: 1e308", "kd.stages.1.terms.2.weight: Input should be less than or equal to 1000000, not 1e+308"),
        ("weight: 1_0",
         "line 7: YAML reads 1_0 as 10; write the number with decimal digits only, or a text in quotes"),
        ("weight: '0.5'",
         "kd.stages.1.terms.2.weight: Input should be a valid number, not '0.5'; write the number without quotes"),
        ("weight:", "line 7: not valid YAML (found unexpected ':')"),
        ("weight: much", "kd.stages.1.terms.2.weight: Input should be a valid number, not 'much'"),
    ]),
    Edits("papers/tiny/students.yaml", "{objective: soft-labels}, {objective: supervised, weight: 0.5}", [
        ("soft-labels", "kd.stages.1.terms.1: give a mapping, not 'soft-labels'"),
    ]),
    Edits("papers/tiny/students.yaml", "{objective: supervised, weight: 0.5}", [
        ("{objective: supervised, not_on: [mod]}",
         "kd.stages.1.terms.2.not_on: no task is called 'mod'; did you mean 'mood'?"),
        ("{objective: supervised, not_on: [mood, mood]}", "kd.stages.1.terms.2.not_on: 'mood' is listed twice"),
        ("{objectiv: supervised}",
         "kd.stages.1.terms.2.objectiv: no key is called 'objectiv'; did you mean 'objective'?"),
    ]),
    Edits("papers/tiny/students.yaml", "objective: hidden-sequence, mapping: last", [
        ("objective: relations, mapping: last, options: {heads: 5}",
         "narrow.stages.1.terms.1.options.heads: objective 'relations': the student's width 16 cannot be cut "
         "into 5 heads; both widths must be multiples of the number; set 'heads'"),
    ]),
    Edits("papers/tiny/students.yaml", "objective: hidden-sequence", [
        ("objective: attention-mse",
         "narrow.stages.1.terms.1: objective 'attention-mse': the student has 2 attention heads and its "
         "teacher 3; attention is compared head by head; 'relations' has no such limit"),
    ]),
]
# fmt: on
