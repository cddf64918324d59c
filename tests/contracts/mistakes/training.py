"""Mistakes in protocols: schedules, grids and seeds."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import AGNOSTIC

# fmt: off
MISTAKES = [
    Edits(AGNOSTIC, "learning_rate: [1.0e-3, 2.0e-3]", [
        ("learning_rte: [1.0e-3]", "grid: no key is called 'learning_rte'; did you mean 'learning_rate'?"),
        ("warmup_ratio: [0, 2]", "grid.warmup_ratio: Input should be less than 1, not 2"),
        ("stages.1.terms.1.weight: [1, 2]",
         "grid.stages.1.terms.1.weight: a protocol has no stages; give it in the 'grid' of a student"),
    ]),
    Edits(AGNOSTIC, "steps: 6", [
        ("steps: 6, epochs: 2", "schedule: give 'steps' or 'epochs', one of the two"),
        ("steps: 0", "schedule.steps: Input should be greater than 0, not 0"),
    ]),
    Edits(AGNOSTIC, "rating: {steps: 4}", [
        ("mood: {learning_rate: 0.1}",
         "tasks.mood.learning_rate: 'grid' tries its own; give it there, in 'grids.mood'"),
        ("rating: {stepps: 4}", "tasks.rating.stepps: no key is called 'stepps'; did you mean 'steps'?"),
        ("ratings: {steps: 4}", "tasks.ratings: no task is called 'ratings'; did you mean 'rating'?"),
        ("rating: {steps: 4, epochs: 2}", "tasks.rating: give 'steps' or 'epochs', one of the two"),
        ("rating: {max_length: 600}", "tasks.rating.max_length: Input should be less than or equal to 512, not 600"),
        ("sentences: {max_length: 8}",
         "tasks.sentences.max_length: the blocks of a corpus have one length, its 'block'"),
    ]),
    Edits(AGNOSTIC, "seeds:", [
        ("grids: {moods: {learning_rate: [0.1], batch_size: [8]}}\nseeds:",
         "grids.moods: no task is called 'moods'; did you mean 'mood'?"),
        ("grids: {rating: {epochs: [2]}}\nseeds:",
         "tasks.rating.steps: 'grids.rating' tries its own; give it there, in 'grids.rating'"),
    ]),
    Edits(AGNOSTIC, "seeds: [1, 2]", [
        ("seeds: [1, 1]", "seeds: 1 is listed twice"),
        ("seeds: [1, 010]",
         "line 6: YAML reads 010 as another number; write it with decimal digits only, or a text in quotes"),
        ("seeds: [1:30]",
         "line 6: YAML reads 1:30 as another number; write it with decimal digits only, or a text in quotes"),
        ("seeds: [1, -2]", "seeds.2: Input should be greater than or equal to 0, not -2"),
    ]),
    Edits(AGNOSTIC, "seeds: [1, 2]\n", [("", "seeds: Field required")]),
    Edits(AGNOSTIC, "steps: 6,", [
        ("", "schedule: give 'steps' or 'epochs', one of the two"),
        ("steps: 1:00:00,",
         "line 2: YAML reads 1:00:00 as another number; write it with decimal digits only, or a text in quotes"),
    ]),
    Edits(AGNOSTIC, "learning_rate: 1.0e-3,", [
        ("learning_rate: .NaN,",
         "line 2: .NaN is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
        ("learning_rate: 1.0e-3, betas: [0.9, 0.99, 0.999],",
         "schedule.betas: List should have at most 2 items after validation, not 3"),
        ("learning_rate: 1.0e-3, max_length: 16,",
         "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"),
    ]),
    Edits(AGNOSTIC, "freeze: [embeddings]", [
        ("freeze: [embeddings, embeddings]", "schedule.freeze: 'embeddings' is listed twice"),
    ]),
    Edits(AGNOSTIC, "grid: {learning_rate: [1.0e-3, 2.0e-3], batch_size: [8], seed: 1}", [
        ("grid: {}", "grid: no values are tried; give some, such as 'learning_rate: [2.0e-5, 5.0e-5]'"),
        ("grid: {learning_rate: [1e-3, 1e-3], batch_size: [8]}", "grid.learning_rate: 0.001 is listed twice"),
        ("grid: {learning_rate: [.inf], batch_size: [8]}",
         "line 5: .inf is no number in decimal digits; write one such as 0.5 or 1e-3, or a text in quotes"),
    ]),
]
# fmt: on
