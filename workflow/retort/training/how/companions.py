"""One pass of a teacher for several students that see the same batches."""

from __future__ import annotations

from torch import Tensor

from retort.engine.job import this_code
from retort.errors import Diverged
from retort.training.checkpoint import Checkpoint
from retort.training.distillation import Student
from retort.training.loop import TrainingRun

# Leave the outcome of a student that was trained with companions in the checkpoint of its own job.


DIVERGED, CODE = "diverged", "code"  # keys of a note: the step of a divergence, and the code that was running


def leave_last_state(student: Student) -> None:
    """Make a student write its state after the last step of its last stage, so that its own job takes no step."""

    def write(run: TrainingRun, state: dict[str, Tensor]) -> None:
        if run.number == len(student.settings.stages):
            student.checkpoint.write(run.number, run.steps, state)

    student.on_end = write


def leave_divergence(student: Student) -> None:
    """Make a student note the step at which it diverges, so that no job trains it again."""

    def note(error: Diverged) -> None:
        student.checkpoint.note({DIVERGED: error.step, CODE: this_code().code})

    student.on_divergence = note


def read_divergence(checkpoint: Checkpoint) -> Diverged | None:
    """Return the divergence that the checkpoint of a student notes for this code; None if it notes none."""
    steps = [note[DIVERGED] for note in checkpoint.notes() if note.get(CODE) == this_code().code]
    return Diverged(steps[0]) if steps else None
