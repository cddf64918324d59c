"""The training loop, used for teachers, distillation and fine-tuning alike."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from retort.job.attempts import NEVER, Clock, Interrupted
from retort.machine import float32_products
from retort.training import optim
from retort.training.checkpoint import are_due
from retort.training.how.micro_batches import DividedBatch, backward_in_parts
from retort.training.how.processes import Agreement, seed_dropout
from retort.training.training_run import Training


def train(trainings: Sequence[Training], device: str, num_workers: int = 0, clock: Clock = NEVER) -> None:
    """Train the modules of a training run in place, or of companions: on each batch, each takes a step.

    Each ends in the same bytes as if trained alone. Companions may have different numbers of steps, or resume at
    different steps. A training that diverges takes no further step; the others go on.

    Args:
        trainings: the trainings, with equal batches that are divided alike.
        device: 'cpu' or 'cuda'.
        num_workers: processes that prepare batches; results do not depend on it.
        clock: the time that the job has; a training takes one step in any case.

    Raises:
        Interrupted: the time is short; all states are written.
    """
    agreement, run, division = Agreement(clock), trainings[0].run, trainings[0].division
    while left := [training.left for training in trainings if training.left]:
        first, stop = min(numbers.start for numbers in left), max(numbers.stop for numbers in left)
        # `closing` ends the processes that prepare batches, also after an error
        with closing(division.load(run.batches, first, stop, device, num_workers)) as batches:
            for number, batch in enumerate(batches, first):
                for training in trainings:
                    if number in training.left:
                        take_step(training, batch)
                if ends := agreement.after_step():
                    for training in trainings:
                        training.see_divergence()
                going_on = [training for training in trainings if number + 1 in training.left]
                if not going_on:  # others may go on from a later step
                    break
                if ends or are_due([training.checkpoint for training in going_on]):
                    for training in trainings if ends else going_on:
                        training.save()
                if ends:
                    raise Interrupted(number + 1)


def take_step(training: Training, batch: DividedBatch) -> None:
    """Take the next step of a training, on its batch; after a divergence, change no weight.

    The step only queues its work on the device. What reads the loss or a divergence waits for the device.
    """
    run, weights, division = training.run, training.parameters.values(), training.division
    training.step += 1
    with training.random.in_use():
        optim.set_rate(training.optimiser, optim.rate(training.step, run.steps, run.schedule))
        if division.size > 1:
            seed_dropout(training.seed, training.step, division.rank)
        with float32_products(training.precision):
            if batch.is_undivided:
                with training.autocast():
                    loss, terms = run.loss(batch.whole)  # forward: teacher, student, and the terms that compare them
                loss.backward()  # type: ignore[no-untyped-call]
            else:
                loss, terms = backward_in_parts(run.loss, batch, training.autocast, weights, division.size)
        norm = optim.clip_grad_norm(weights, run.schedule.max_grad_norm)  # before clipping
        # a NaN must not reach weights or moments: the host may ask for it some steps later
        optim.update(training.optimiser, found_inf=training.note(loss.detach(), terms, norm))
        dev = run.after_step(training.step)
        training.report(batch.whole.input_ids.numel(), dev)
