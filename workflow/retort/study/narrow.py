"""Make models and students as narrow as their heads allow; depths and numbers of heads stay as printed."""

from __future__ import annotations

import math
from collections import defaultdict

from retort.specs.model import Architecture
from retort.study.study import Study

Node = tuple[str, str]  # ('models' or 'students', name)
DIVISORS = ("heads", "splits")  # options by which an objective divides a width
HEAD = 2  # the width of the narrowest head: with 1, a softmax or a norm over it would be constant


class _Groups:
    """Groups of models and students that must keep equal widths: those of equal printed width, or that copy weights.

    Each group is a tree: `leader` leads from a member towards the root, which stands for the group.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.leader: dict[Node, Node] = {}
        for name, student in study.students.items():
            start, node = student.initialisation, ("students", name)
            if start.checkpoint:
                self._join(node, ("models", start.checkpoint))
            if start.student:
                self._join(node, ("students", start.student))
            if student.initial_layers is not None or student.architecture.widths == self._widths(name):
                self._join(node, self.teacher(name))

    def of(self, node: Node) -> Node:
        """Return the root of the group of a node."""
        while node in self.leader:
            node = self.leader[node]
        return node

    def teacher(self, student: str) -> Node:
        """Return the model of a student's teacher."""
        return "models", self.study.teachers[self.study.students[student].teacher].model

    def _widths(self, student: str) -> tuple[int, int, int]:
        return self.study.models[self.teacher(student)[1]].architecture.widths

    def _join(self, node: Node, other: Node) -> None:
        node, other = self.of(node), self.of(other)
        if node != other:
            self.leader[node] = other


def narrow_widths(study: Study) -> dict[Node, int]:
    """Return the smallest width of each model and student that its heads, relation heads and splits divide.

    A student that is narrower than its teacher in print stays narrower. One that is as wide, or that copies weights,
    stays as wide.

    Args:
        study: the study as its files have it.
    """
    groups, shapes = _Groups(study), _shapes(study)
    multiple_of, neighbours = defaultdict[Node, int](lambda: 1), defaultdict[Node, set[Node]](set)
    for node, shape in shapes.items():
        group = groups.of(node)
        multiple_of[group] = math.lcm(multiple_of[group], HEAD * shape.heads)
    for name, student in study.students.items():
        pair = groups.of(("students", name)), groups.of(groups.teacher(name))
        neighbours[pair[0]].add(pair[1])
        neighbours[pair[1]].add(pair[0])
        terms = [term for stage in student.stages for term in stage.terms]
        values = [term.options.get(key) for term in terms for key in DIVISORS]
        if any("heads" not in term.options for term in terms):  # then some cut both widths into the teacher's heads
            values.append(study.model_of(student.teacher).architecture.heads)
        for group in pair:
            multiple_of[group] = math.lcm(multiple_of[group], *(n for n in values if isinstance(n, int)))
    widths: dict[Node, int] = {}
    for group in sorted(set(map(groups.of, shapes)), key=lambda group: (shapes[group].hidden, group)):
        printed = shapes[group].hidden
        narrower = [widths[n] for n in neighbours[group] if n in widths and shapes[n].hidden < printed]
        widths[group] = (max(narrower, default=0) // multiple_of[group] + 1) * multiple_of[group]
    return {node: widths[groups.of(node)] for node in shapes}


def _shapes(study: Study) -> dict[Node, Architecture]:
    shapes: dict[Node, Architecture] = {("models", name): model.architecture for name, model in study.models.items()}
    return shapes | {("students", name): student.architecture for name, student in study.students.items()}


def narrow(shape: Architecture, hidden: int) -> Architecture:
    """Return an architecture of another width, with the other widths in proportion."""

    def scaled(width: int) -> int:
        return max(1, width * hidden // shape.hidden)

    embedding = shape.embedding and scaled(shape.embedding)
    return shape.model_copy(
        update={"hidden": hidden, "intermediate": scaled(shape.intermediate), "embedding": embedding}
    )
