"""Mistakes in students.yaml: students, their initialisation and stages, terms of a loss, families."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import STUDENTS

# a student that no table shows
OTHER = """other:
  title: Another one
  teacher: tiny-teacher
  protocol: short
  architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}
  initialisation: {layers: [2, 4]}
  stages: [{data: task, terms: [{objective: soft-labels}]}]
"""

FAMILIES = """\
"kd-{layers}":
  for_each:
    layers:
      low: {initialisation: {layers: [1, 2]}}
      high: {initialisation: {layers: [3, 4]}}
  title: Vanilla KD
  teacher: teacher
  protocol: short
  architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}
  stages: [{data: task, terms: [{objective: attention-kl, mapping: initial}]}]
"""
# fmt: off
MISTAKES = [
    # students
    Edits(STUDENTS, [
        ("layers: [2, 4]", "layers: [2, 5]", "kd.initialisation.layers: teacher 'tiny-teacher' has no layer 5"),
        ("initialisation: {layers: [2, 4]}", "initialisation: random",
         "kd.initialisation: write {random: true}, not 'random'"),
        ("layers: [2, 4]", "layers: [4, 2]", "kd.initialisation: 'layers' falls"),
        ("layers: [2, 4]", "layers: [2]", "kd: 1 teacher layers listed for 2 student layers"),
        ("layers: [2, 4]", "layers: [2, 2]", "kd.initialisation.layers: 2 is listed twice"),
        ("layers: [2, 4]", "layers: [0, 4]", "kd.initialisation: 'layers' counts teacher layers from 1"),
        ("layers: [2, 4]", "layers: []", "kd.initialisation: 'layers' counts teacher layers from 1"),
        ("layers: [2, 4]", "layers: [2, 4], random: true",
         "kd.initialisation: give exactly one of layers, truncated, student, checkpoint, random"),
        ("Vanilla KD", '"Vanilla \\u2067KD"', "kd.title: a line break or a control character stands in it"),
        ("title: Vanilla KD", 'title: "Vanilla\\n\\nKD"', "kd.title: a line break or a control character stands in it"),
        ("title: Vanilla KD", "title: Vanilla KD\n  tasks: [mood, mood]", "kd.tasks: 'mood' is listed twice"),
        ("title: Vanilla KD", "title: Vanilla KD\n  tasks: [mod]", "kd.tasks.1: no task is called 'mod'"),
        ("title: Vanilla KD", "title: {{ name }}", "line 2: a list or a mapping stands as a key"),
        ("title: Vanilla KD", "title: [Vanilla", "line 3: not valid YAML (did not find expected ',' or ']')"),
        ("Vanilla KD", "Vanilla: KD", "line 2: not valid YAML (mapping values are not allowed in this context)"),
        ("title: Vanilla KD", "title: *x", "line 2: not valid YAML (found undefined alias)"),
        ("title: Vanilla KD", "title: Vanilla KD\n  for_each: {a: [1]}", "kd.for_each: the name has no axis"),
        ("title: Vanilla KD", "title: Vanilla KD\n  title: Again", "line 3: 'title' is given twice"),
        ("title: Vanilla", "\ttitle: Vanilla", "line 2: not valid YAML (found character that cannot start any token)"),
        ("initialisation: {random: true}", "initialisation: {layers: [4]}",
         "narrow.initialisation.layers: a student of width 16 x 32 cannot take layers of a teacher of 24 x 48"),
        ("{student: tiny-narrow}", "{student: tiny-predicting}",
         "predicting.initialisation.student: 'tiny-predicting' starts from itself: tiny-predicting <- tiny-predicting"),
        ("tiny-narrow", "tiny-narow", "predicting.initialisation.student: no student is called 'tiny-narow'"),
        ("teacher: tiny-teacher", "teacher: tiny-teachr", "kd.teacher: no teacher is called 'tiny-teachr'"),
        ("attention:\n", "kd:\n", "line 8: 'kd' is given twice; rename one of the two"),
        ("kd:\n", "k/../d:\n", "'k/../d' does not match the pattern"),
        ("kd:\n", "no:\n", "line 1: YAML reads the key no as no text; put it in quotes"),
        ("kd:\n", "? [kd]\n:\n", "line 1: a list or a mapping stands as a key"),
        ("kd:\n", "k_d:\n", "'k_d' does not match the pattern"),
        ("kd:\n", "kd:\n  grid: {stages.1.terms.2.weight: [0.5, -1]}\n",
         "kd.grid.stages.1.terms.2.weight: terms.2.weight: Input should be greater than or equal to 0.000000001"),
        ("kd:\n", "kd:\n  grid: {stages.2.terms.1.weight: [0.5]}\n",
         "kd.grid.stages.2.terms.1.weight: there is no 'stages.2'"),
        ("kd:\n", "kd:\n  grid: {stages.1.terms.1.options.temperatur: [5, 10]}\n",
         "kd.grid.stages.1.terms.1.options.temperatur: terms.1.options.temperatur: no key is called 'temperatur'"),
        ("kd:\n", "kd:\n  grid: {stages.1.terms.1.wieght: [1]}\n",
         "kd.grid.stages.1.terms.1.wieght: terms.1.wieght: no key is called 'wieght'; did you mean 'weight'?"),
        ("kd:\n", "kd:\n  grid: {max_length: [8, 12]}\n", "kd.grid.max_length: not every row can be cut"),
        ("data: sentences", "data: sentence", "narrow.stages.1.data: no corpus is called 'sentence'"),
        ("narrow:\n", "narrow:\n  grid: {stages.1.terms.1.weight: [1, 2]}\n",
         "narrow.grid.stages.1.terms.1.weight: a student of a corpus is tuned where it is fine-tuned, without stages"),
        ("stages: [{data: task", "grid: {learning_rate: [0.1]}\n  stages: [{data: task, schedule: {learning_rate: 0.2}",
         "kd.grid.learning_rate: every stage gives its own 'learning_rate'"),
        ("heads: 3", "heads: 5", "kd.architecture: hidden (24) is not a multiple of heads (5)"),
        ("layers: [2, 4]", "", "kd.initialisation: give exactly one of layers, truncated, student, checkpoint, random"),
        ("{layers: [2, 4]}", "{checkpoint: encodr}", "kd.initialisation.checkpoint: no model is called 'encodr'"),
        ("{layers: [2, 4]}", "{checkpoint: encoder}",
         "kd.initialisation.checkpoint: 'encoder' has layers: 4, the student's architecture layers: 2"),
        ("2, heads: 3,", "200, heads: 3,", "kd.architecture.layers: Input should be less than or equal to 48, not 200"),
        ("layers: 2, heads: 3", "layers: 2, heads: 0", "kd.architecture.heads: Input should be greater than 0, not 0"),
        ("48}", "48, embedding: 24}", "kd.architecture: embedding (24) is not smaller than hidden (24); leave it out"),
        ("steps_factor: 0.5", "schedule: {max_length: 8}",
         "predicting.stages.1.schedule.max_length: not every row can be cut"),
        ("steps_factor: 0.5", "tasks: {mood: {steps: 3}}",
         "predicting.stages.1: 'tasks' and 'not_on' are for stages on the task; a corpus has one schedule"),
    ]),
    Edits(STUDENTS, [
        ("other:\n", "KD:\n", "'tiny-KD' differs from 'tiny-kd' in case alone: some file systems hold both as one"),
    ], before=OTHER),
    Edits(STUDENTS, [
        ("{layers: 2, heads: 3, hidden: 24, intermediate: 48}", "encodr", ": no model is called 'encodr'"),
        ("{layers: 2, heads: 3, hidden: 24, intermediate: 48}", "{like: encodr, layers: 2}",
         ": no model is called 'encodr'; did you mean 'encoder'?"),
        ("layers: 2, heads: 3, hidden: 24, intermediate: 48", "like: [encoder]", ": no model is called '['encoder']'"),
        ("{layers: 2, heads: 3, hidden: 24, intermediate: 48}", "{like: encoder, layers: 2, hidden: 25}",
         ": hidden (25) is not a multiple of heads (3)"),
    ], at="kd.architecture"),
    # terms of a loss: objectives, options, mappings, weights
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
    # families
    Edits(STUDENTS, [
        ("[3, 4]", "[3, 5]", "kd-{layers}.initialisation.layers: teacher 'tiny-teacher' has no layer 5; it has 4"),
        ("[3, 4]", "[3]", "kd-{layers}: 1 teacher layers listed for 2 student layers"),
        ("high: {initialisation: {layers: [3, 4]}}", "high: {initialisaton: {layers: [3, 4]}}",
         "kd-{layers}: for_each.layers.high.initialisaton: not a field of a student"),
        ("{initialisation: {layers: [3, 4]}}", "3", "kd-{layers}: for_each.layers: not a mapping of values"),
        ("      low: {", "      no: {", "line 34: YAML reads the key no as no text; put it in quotes"),
        ("      low: {", "      01: {", "line 34: YAML reads 01 as another number; write it with decimal digits only"),
        ("      low: {", "      {x}: {", "line 34: a list or a mapping stands as a key"),
        ("      low: {", "      l ow: {", "'kd-l ow' does not match the pattern"),
        ("      low: {", "      high: {", "line 35: 'high' is given twice; rename one of the two"),
        ("for_each:", "for_eech:", "kd-{layers}: a name with {...} needs 'for_each'"),
        ('"kd-{layers}":', '"kd-{layer}":', "kd-{layer}: for_each.layers: the name has no {layers}"),
        ('"kd-{layers}":', '"kd-{layers}-{depth}":', "kd-{layers}-{depth}: {depth}: no axis is called 'depth'"),
        ("initial}", "initail}", "kd-{layers}.stages.1.terms.1.mapping: no mapping is called 'initail'"),
        ("mapping: initial}]}]\n", "mapping: initial, weight: 0}]}]\n",
         "kd-{layers}.stages.1.terms.1.weight: Input should be greater than or equal to 0.000000001, not 0"),
        ("mapping: initial}]}]\n", "mapping: initial}]}]\n  titel: x\n", "kd-{layers}.titel: no key is called 'titel'"),
        ("short\n  architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}\n  stages",
         "shrt\n  architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}\n  stages",
         "kd-{layers}.protocol: no protocol is called 'shrt'; did you mean 'short'?"),
        ("for_each", "except: [{layers: mid}]\n  for_each", "kd-{layers}: except.1.layers: no value is called 'mid'"),
        ("  for_each:\n", "  except: {layers: low}\n  for_each:\n", "kd-{layers}: except: not a list"),
        ("  for_each:\n", "  except: [low]\n  for_each:\n", "kd-{layers}: except.1: not a mapping"),
        ("  for_each:\n", "  except: [{layers: [low, high]}]\n  for_each:\n", "kd-{layers}: no student is left"),
        ("for_each", "except: [{depth: low}]\n  for_each", "kd-{layers}: except.1: no axis is called 'depth'"),
        ("  for_each:\n", "  deviations: ['{layers.label}']\n  for_each:\n",
         "kd-{layers}: {layers.label}: value 'low' has no 'label'; give it one in axis 'layers'"),
        ("for_each", "deviations: ['{depth}']\n  for_each", "kd-{layers}: {depth}: no axis is called 'depth'"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: all",
         "kd-{layers}: for_each.layers: no axis is called 'layers'; there are: none"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: 3",
         "kd-{layers}: for_each.layers: not a mapping of values; write {value: {key: ...}}"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: [[1]]",
         "kd-{layers}: '[1]' is no name of a value; write texts or whole numbers"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: [1.5]",
         "kd-{layers}: '1.5' is no name of a value; write texts or whole numbers"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: [true]",
         "kd-{layers}: 'True' is no name of a value; write texts or whole numbers"),
        ("layers:\n      low: {initialisation: {layers: [1, 2]}}\n      high: {initialisation: {layers: [3, 4]}}",
         "layers: []",
         "kd-{layers}: no student is left; give each axis a value, or remove from 'except'"),
        ("kd:\n", "axes: {size: {a: {}}}\nkd:\n", "axes.size: no family uses it; name it in the 'for_each' of one"),
        ("kd:\n", "axes: [a]\nkd:\n", "axes: not a mapping; write axis: {value: {key: ...}}"),
        ("kd:\n", "axes: {size: 3}\nkd:\n", "axes.size: not a mapping of values; write {value: {key: ...}}"),
    ], before=FAMILIES),
]
# fmt: on
