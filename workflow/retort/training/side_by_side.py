"""Leave the outcome of a student that was trained beside others where its own job looks for it: in its checkpoint."""

from __future__ import annotations

from torch import Tensor

from retort.errors import Diverged
from retort.jobs import this_code
from retort.training.checkpoint import Checkpoint
from retort.training.distillation import Student
from retort.training.loop import TrainingRun

DIVERGED, CODE = "diverged", "code"  # the keys of a note: the step of a divergence, the code that diverged


def leave_last_state(student: Student) -> None:
    """Make a student write the state after the last step of its last stage; its own job then takes no step."""

    def write(run: TrainingRun, state: dict[str, Tensor]) -> None:
        if run.number == len(student.settings.stages):
            student.checkpoint.write(run.number, run.steps, state)

    student.ended = write


def leave_divergence(student: Student) -> None:
    """Make a student note the step at which it diverges, at once; nobody trains it again, nor does its own job."""

    def note(error: Diverged) -> None:
        student.checkpoint.note({DIVERGED: error.step, CODE: this_code().code})

    student.on_divergence = note


def divergence_noted(checkpoint: Checkpoint) -> Diverged | None:
    """Return the divergence under this code that is noted in the checkpoint of a student; None if none is."""
    steps = [note[DIVERGED] for note in checkpoint.notes() if note.get(CODE) == this_code().code]
    return Diverged(steps[0]) if steps else None
