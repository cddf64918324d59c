"""Mistakes in students.yaml: students, their initialisation and stages."""

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
# fmt: off
MISTAKES = [
    Edits(STUDENTS, [
        ("layers: [2, 4]", "layers: [2, 5]", "kd.initialisation.layers: teacher 'tiny-teacher' has no layer 5"),
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
]
# fmt: on
