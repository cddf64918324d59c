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
    Edits(STUDENTS, "layers: [2, 4]", [
        ("layers: [2, 5]", "kd.initialisation.layers: teacher 'tiny-teacher' has no layer 5; it has 4"),
        ("layers: [4, 2]",
         "kd.initialisation: 'layers' falls; the layers of a student are in the order of the teacher's"),
        ("layers: [2]", "kd: 1 teacher layers listed for 2 student layers"),
        ("layers: [2, 2]", "kd.initialisation.layers: 2 is listed twice"),
        ("layers: [0, 4]", "kd.initialisation: 'layers' counts teacher layers from 1"),
        ("layers: []", "kd.initialisation: 'layers' counts teacher layers from 1"),
        ("layers: [2, 4], random: true",
         "kd.initialisation: give exactly one of layers, truncated, student, checkpoint, random"),
    ]),
    Edits(STUDENTS, "other:\n", [
        ("KD:\n", "'tiny-KD' differs from 'tiny-kd' in case alone: some file systems hold both as one; rename one"),
    ], before=OTHER),
    Edits(STUDENTS, "title: Vanilla KD", [
        ('title: "Vanilla \\u2067KD"', "kd.title: a line break or a control character stands in it"),
        ('title: "Vanilla\\n\\nKD"', "kd.title: a line break or a control character stands in it"),
        ("title: Vanilla KD\n  tasks: [mood, mood]", "kd.tasks: 'mood' is listed twice"),
        ("title: Vanilla KD\n  tasks: [mod]", "kd.tasks.1: no task is called 'mod'; did you mean 'mood'?"),
        ("title: {{ name }}",
         "line 2: a list or a mapping stands as a key; put a text that begins with { or [ in quotes"),
        ("title: [Vanilla", "line 3: not valid YAML (did not find expected ',' or ']')"),
        ("title: Vanilla: KD", "line 2: not valid YAML (mapping values are not allowed in this context)"),
        ("title: *x", "line 2: not valid YAML (found undefined alias)"),
        ("title: Vanilla KD\n  for_each: {a: [1]}", "kd.for_each: the name has no axis; write it as '{axis}-...'"),
        ("title: Vanilla KD\n  title: Again", "line 3: 'title' is given twice; rename one of the two"),
        ("\ttitle: Vanilla KD", "line 2: not valid YAML (found character that cannot start any token)"),
    ]),
    Edits(STUDENTS, "initialisation: {random: true}", [
        ("initialisation: {layers: [4]}",
         "narrow.initialisation.layers: a student of width 16 x 32 cannot take layers of a teacher of 24 x 48; "
         "use 'random: true'"),
    ]),
    Edits(STUDENTS, "{student: tiny-narrow}", [
        ("{student: tiny-predicting}", "'tiny-predicting' starts from itself: tiny-predicting <- tiny-predicting"),
        ("{student: tiny-narow}", "no student is called 'tiny-narow'; did you mean 'tiny-narrow'?"),
    ], at="predicting.initialisation.student: "),
    Edits(STUDENTS, "teacher: tiny-teacher", [
        ("teacher: tiny-teachr", "kd.teacher: no teacher is called 'tiny-teachr'; did you mean 'tiny-teacher'?"),
    ]),
    Edits(STUDENTS, "attention:\n", [("kd:\n", "line 8: 'kd' is given twice; rename one of the two")]),
    Edits(STUDENTS, "kd:\n", [
        ("k/../d:\n", "'k/../d' does not match the pattern"),
        ("no:\n", "line 1: YAML reads the key no as no text; put it in quotes"),
        ("? [kd]\n:\n", "line 1: a list or a mapping stands as a key; put a text that begins with { or [ in quotes"),
        ("k_d:\n", "'k_d' does not match the pattern"),
        ("kd:\n  grid: {stages.1.terms.2.weight: [0.5, -1]}\n",
         "kd.grid.stages.1.terms.2.weight: terms.2.weight: Input should be greater than or equal to 0.000000001, "
         "not -1"),
        ("kd:\n  grid: {stages.2.terms.1.weight: [0.5]}\n", "kd.grid.stages.2.terms.1.weight: there is no 'stages.2'"),
        ("kd:\n  grid: {stages.1.terms.1.options.temperatur: [5, 10]}\n",
         "kd.grid.stages.1.terms.1.options.temperatur: terms.1.options.temperatur: no key is called "
         "'temperatur'; did you mean 'temperature'?"),
        ("kd:\n  grid: {stages.1.terms.1.wieght: [1]}\n",
         "kd.grid.stages.1.terms.1.wieght: terms.1.wieght: no key is called 'wieght'; did you mean 'weight'?"),
    ]),
    Edits(STUDENTS, "data: sentences", [
        ("data: sentence", "narrow.stages.1.data: no corpus is called 'sentence'; did you mean 'sentences'?"),
    ]),
    Edits(STUDENTS, "narrow:\n", [
        ("narrow:\n  grid: {stages.1.terms.1.weight: [1, 2]}\n",
         "narrow.grid.stages.1.terms.1.weight: a student of a corpus is tuned where it is fine-tuned, without stages; "
         "leave it out"),
    ]),
    Edits(STUDENTS, "  stages: [{data: task, terms: [{objective: soft-labels}, ", [
        ("  grid: {learning_rate: [0.1]}\n  stages: [{data: task, schedule: {learning_rate: 0.2}, terms: "
         "[{objective: soft-labels}, ",
         "kd.grid.learning_rate: every stage gives its own 'learning_rate'; try 'stages.1.schedule.learning_rate' "
         "instead"),
    ]),
    Edits(STUDENTS, "heads: 3", [("heads: 5", "kd.architecture: hidden (24) is not a multiple of heads (5)")]),
    Edits(STUDENTS, "{layers: [2, 4]}", [
        ("{}", "kd.initialisation: give exactly one of layers, truncated, student, checkpoint, random"),
        ("{checkpoint: encodr}", "kd.initialisation.checkpoint: no model is called 'encodr'; did you mean 'encoder'?"),
        ("{checkpoint: encoder}",
         "kd.initialisation.checkpoint: 'encoder' has layers: 4, the student's architecture layers: 2"),
    ]),
    Edits(STUDENTS, "architecture: {layers: 2, heads: 3,", [
        ("architecture: {layers: 200, heads: 3,", "layers: Input should be less than or equal to 48, not 200"),
        ("architecture: {layers: 2, heads: 0,", "heads: Input should be greater than 0, not 0"),
    ], at="kd.architecture."),
    Edits(STUDENTS, "intermediate: 48}", [
        ("intermediate: 48, embedding: 24}",
         "kd.architecture: embedding (24) is not smaller than hidden (24); leave it out"),
        ("intermediate: 010}",
         "line 5: YAML reads 010 as another number; write it with decimal digits only, or a text in quotes"),
    ]),
    Edits(STUDENTS, "steps_factor: 0.5", [
        ("schedule: {max_length: 8}",
         "1.schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"),
        ("tasks: {mood: {steps: 3}}", "1: 'tasks' and 'not_on' are for stages on the task; a corpus has one schedule"),
    ], at="predicting.stages."),
    Edits(STUDENTS, "architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}", [
        ("architecture: encodr", ": no model is called 'encodr'; did you mean 'encoder'?"),
        ("architecture: {like: encodr, layers: 2}", ": no model is called 'encodr'; did you mean 'encoder'?"),
        ("architecture: {like: [encoder]}", ": no model is called '['encoder']'; did you mean 'encoder'?"),
        ("architecture: {like: encoder, layers: 2, hidden: 25}", ": hidden (25) is not a multiple of heads (3)"),
    ], at="kd.architecture"),
]
# fmt: on
