"""Mistakes in families of students.yaml."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import STUDENTS

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
