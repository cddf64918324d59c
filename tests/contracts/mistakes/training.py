"""Mistakes in protocols: schedules, grids and seeds."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import AGNOSTIC

# fmt: off
MISTAKES = [
    Edits(AGNOSTIC, [
        ("learning_rate: [1.0e-3, 2.0e-3]", "learning_rte: [1.0e-3]", "grid: no key is called 'learning_rte'"),
        ("learning_rate: [1.0e-3, 2.0e-3", "warmup_ratio: [0, 2", "grid.warmup_ratio: Input should be less than 1"),
        ("learning_rate: [1.0e-3, 2.0e-3]", "stages.1.terms.1.weight: [1, 2]",
         "grid.stages.1.terms.1.weight: a protocol has no stages; give it in the 'grid' of a student"),
        ("steps: 6", "steps: 6, epochs: 2", "schedule: give 'steps' or 'epochs', one of the two"),
        ("steps: 6", "steps: 0", "schedule.steps: Input should be greater than 0, not 0"),
        ("rating: {steps: 4}", "mood: {learning_rate: 0.1}", "tasks.mood.learning_rate: 'grid' tries its own"),
        ("rating: {steps: 4}", "rating: {stepps: 4}", "tasks.rating.stepps: no key is called 'stepps'"),
        ("rating: {steps: 4}", "ratings: {steps: 4}", "tasks.ratings: no task is called 'ratings'"),
        ("rating: {steps: 4", "rating: {steps: 4, epochs: 2", "tasks.rating: give 'steps' or 'epochs', one of the two"),
        ("steps: 4", "max_length: 600", "tasks.rating.max_length: Input should be less than or equal to 512, not 600"),
        ("rating: {steps: 4}", "sentences: {max_length: 8}",
         "tasks.sentences.max_length: the blocks of a corpus have one length, its 'block'"),
        ("seeds:", "grids: {moods: {learning_rate: [0.1], batch_size: [8]}}\nseeds:",
         "grids.moods: no task is called 'moods'; did you mean 'mood'?"),
        ("seeds:", "grids: {rating: {epochs: [2]}}\nseeds:", "tasks.rating.steps: 'grids.rating' tries its own"),
        ("seeds: [1, 2]", "seeds: [1, 1]", "seeds: 1 is listed twice"),
        ("seeds: [1, 2]", "seeds: [1, -2]", "seeds.2: Input should be greater than or equal to 0, not -2"),
        ("seeds: [1, 2]\n", "", "seeds: Field required"),
        ("steps: 6,", "", "schedule: give 'steps' or 'epochs', one of the two"),
        ("learning_rate: 1.0e-3,", "learning_rate: 1.0e-3, betas: [0.9, 0.99, 0.999],",
         "schedule.betas: List should have at most 2 items after validation, not 3"),
        ("1.0e-3", "1.0e-3, max_length: 16", "schedule.max_length: not every row can be cut"),
        ("learning_rate: [1.0e-3, 2.0e-3]", "max_length: [8, 12]", "grid.max_length: not every row can be cut"),
        ("freeze: [embeddings]", "freeze: [embeddings, embeddings]", "schedule.freeze: 'embeddings' is listed twice"),
        ("grid: {learning_rate: [1.0e-3, 2.0e-3], batch_size: [8], seed: 1}", "grid: {}", "grid: no values are tried"),
        ("learning_rate: [1.0e-3, 2.0e-3], batch_size: [8], seed: 1", "learning_rate: [1e-3, 1e-3], batch_size: [8]",
         "grid.learning_rate: 0.001 is listed twice"),
    ]),
]
# fmt: on
