"""The cost of a loss for a row of a batch: FLOPs, bytes moved, and bytes held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from retort.cost.speed import Work
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.catalogue import Registered
from retort.specs.model import Architecture

NUMBER = 4  # bytes: losses compute in float32
MOVES = 12  # times that value and gradient of a loss read or write the tensors that they compare
RELATION_MOVES = 20  # the same for relations, in the form that every GPU can run (`plain` of relation_forms)
# Bytes that are held until the backward pass, for each number that is compared, as metered (tests/references/meter.py)
HELD = {"scores": 24.0, "logits": 12.0}  # scores of both sides with their softmax; logits with theirs
HELD_OF_VECTORS = 10.0  # differences and maps of vectors
HELD_OF_RELATION = 4.0  # for each number of the student's vectors: the two gradients
SCRATCH_OF_RELATION = 7.0  # for each number of both sides' vectors, while one relation is computed
# What a teacher's pass leaves in memory: activations whose numbers are never in bfloat16, and views of other ones
IN_FLOAT32 = ("hidden", "words", "scores")
VIEWS = {"cls": "hidden", "embeddings": "hidden"}


@dataclass(frozen=True)
class LossCost:
    """What a loss takes for one row.

    Args:
        work: what it computes and moves.
        held: bytes that are held until the backward pass.
        scratch: bytes that are held while one relation is computed.
        relation: the size of the largest relation, in numbers; 0 without relations.
        relation_heads: the heads of that relation; they are computed in chunks.
    """

    work: Work = field(default_factory=Work)
    held: float = 0.0
    scratch: float = 0.0
    relation: float = 0.0
    relation_heads: int = 1

    def __add__(self, other: LossCost) -> LossCost:
        """Return the cost of two terms that are held together, and computed one after the other."""
        larger = max(self, other, key=lambda cost: cost.relation)
        return replace(
            larger,
            work=self.work + other.work,
            held=self.held + other.held,
            scratch=max(self.scratch, other.scratch),
        )


def last_layer(terms: list[TermSettings], side: int, layers: int) -> tuple[int, bool]:
    """Return the last layer that the terms read on one side (0: student, 1: teacher), and whether they read logits."""
    objectives, last = catalogue.objectives(), 0
    for term in terms:
        activations = activations_of(objectives[term.objective], side)
        if "logits" in activations:
            return layers, True
        last = max([last, layers * ("pooled" in activations), *(pair[side] for pair in term.pairs if activations)])
    return last, False


def reads_all_positions(terms: list[TermSettings], side: int, layer: int) -> bool:
    """Return whether the terms read activations of a layer that follow its attention, at every position of a row."""
    objectives = catalogue.objectives()
    at_layer = [objectives[term.objective] for term in terms if any(pair[side] == layer for pair in term.pairs)]
    return catalogue.at_all_positions(name for entry in at_layer for name in activations_of(entry, side))


def activations_of(entry: Registered, side: int) -> tuple[str, ...]:
    """Return the activations that an objective reads on one side (0: student, 1: teacher)."""
    return entry.teacher_activations if side else entry.activations


def cost_of(
    terms: list[TermSettings], student: Architecture, teacher: Architecture, length: float, outputs: float
) -> LossCost:
    """Return the cost of a stage's loss for one row of `length` tokens.

    Args:
        terms: its terms.
        student: the student's architecture.
        teacher: the teacher's architecture.
        length: tokens of a row.
        outputs: logits of a row.
    """
    objectives = catalogue.objectives()
    total = LossCost()
    for term in terms:
        entry = objectives[term.objective]
        compare = _relations if entry.facts.get("holds_relations") else _tensors
        total += compare(term, entry, student, teacher, length)
    return total + _logits(terms, outputs)


def kept_of_teacher(
    terms: list[TermSettings], teacher: Architecture, length: float, outputs: float, precision: str
) -> float:
    """Return the bytes for each row that companions keep of their teacher's pass.

    Args:
        terms: the terms of all of these students.
        teacher: the teacher's architecture.
        length: tokens of a row.
        outputs: logits of a row.
        precision: 'bfloat16', 'tf32' or 'float32'.
    """
    objectives, total = catalogue.objectives(), 0.0
    kept = {
        (VIEWS.get(activation, activation), layer)
        for term in terms
        for activation in activations_of(objectives[term.objective], 1)
        for layer in ({pair[1] for pair in term.pairs} or {0})
    }
    for activation, _ in kept:
        numbers = outputs if activation == "logits" else _numbers(activation, teacher, length)
        total += numbers * (NUMBER if activation in IN_FLOAT32 or precision != "bfloat16" else NUMBER / 2)
    return total


def _logits(terms: list[TermSettings], outputs: float) -> LossCost:
    """Return the cost of the logits, which the terms share."""
    sides = (last_layer(terms, side, 0) for side in (0, 1))
    numbers = sum(reads_logits for _, reads_logits in sides) * outputs
    return LossCost(Work(traffic=MOVES * NUMBER * numbers), held=HELD["logits"] * numbers)


def _numbers(activation: str, model: Architecture, length: float) -> float:
    """Return the size of an activation of one layer for a row, in numbers; logits are counted elsewhere."""
    sizes = {
        "scores": model.heads * length**2,
        "cls": model.hidden,
        "pooled": model.hidden,
        "ffn": model.intermediate * length,
        "logits": 0.0,
    }
    return sizes.get(activation, model.hidden * length)


def _tensors(
    term: TermSettings, entry: Registered, student: Architecture, teacher: Architecture, length: float
) -> LossCost:
    """Return the cost of a term that compares tensors number by number."""
    if entry.level == "layers":  # reads each of its layers once
        pairs = max(len({pair[side] for pair in term.pairs}) for side in (0, 1))
    else:
        pairs = len(term.pairs) or 1
    both = [
        {activation: _numbers(activation, model, length) for activation in activations_of(entry, side)}
        for side, model in enumerate((student, teacher))
    ]
    held = sum(HELD.get(activation, HELD_OF_VECTORS) * numbers for activation, numbers in both[1].items())
    moved = pairs * MOVES * NUMBER * sum(sum(numbers.values()) for numbers in both)
    return LossCost(Work(traffic=moved), held=pairs * held)


def _relations(
    term: TermSettings, entry: Registered, student: Architecture, teacher: Architecture, length: float
) -> LossCost:
    """Return the cost of a term that compares relations, each of (heads, length, length) numbers on both sides."""
    sizes: dict[str, Any] = {**term.options, "student": student.heads, "teacher": teacher.heads}
    sources = entry.facts.get("divides_widths") or ()  # of the number of heads that split vectors
    heads = next((int(sizes[name]) for name in sources if sizes.get(name) is not None), 1)
    pairs = term.options.get("pairs")  # such as [q-q, k-k, v-v]; an objective without this option has one relation
    relations = (len(pairs) if isinstance(pairs, list) else 1) * (len(term.pairs) or 1)
    own, both = student.hidden * length, (student.hidden + teacher.hidden) * length
    numbers = heads * length**2
    moved = relations * RELATION_MOVES * NUMBER * numbers
    flops = relations * 2 * length * (both + 2 * own)  # the relations of both sides; the gradients of two vectors
    return LossCost(
        Work(flops, moved + relations * MOVES * NUMBER * both, relation_traffic=moved),
        held=relations * HELD_OF_RELATION * own,
        scratch=SCRATCH_OF_RELATION * both,
        relation=numbers,
        relation_heads=heads,
    )
