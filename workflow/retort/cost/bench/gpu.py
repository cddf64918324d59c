"""The first ten minutes on a GPU: kernels, training steps of real sizes, loading of batches, saving and resuming.

On a CPU, the same is measured on small models, so that tests run all of it. What is measured stands next to what the
cost model predicts, in lines for the terminal and in a file that can be sent on.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from retort.atomic import write_json
from retort.cost import work
from retort.cost.bench.calibrate import calibrate
from retort.cost.bench.plain_steps import against_plain
from retort.cost.bench.steps import NUM_LABELS, SCHEDULE, Models, Steps, StepShape, median_seconds, peak_memory
from retort.cost.estimates import BENCH
from retort.cost.speed import GUESSED, STORED, Speed
from retort.cost.training_work import LABELS, TrainingCost
from retort.cost.volume import Rows
from retort.data.batches import MaskedBatches
from retort.data.blocks import CorpusInfo, write_blocks
from retort.errors import RetortError
from retort.job.context import RunningJob
from retort.machine import float32_products
from retort.objectives.relation_forms.choice import TOLERANCE, Problem, choose_ahead, form_on
from retort.objectives.relation_forms.in_pytorch import plain
from retort.provenance import run_environment
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.training import checkpoint
from retort.training.how import processes
from retort.training.how.launch import on_every_gpu
from retort.training.timing import times

OUTPUT = Path("results/bench/gpu.json")
HEAD_SIZES = ((8, 16), (16, 16), (32, 64), (64, 64))  # of student and teacher
STUDENTS = {384: Architecture(layers=6, heads=12, hidden=384, intermediate=1536)}
STUDENTS[768] = Architecture(layers=6, heads=12, hidden=768, intermediate=3072)
BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
LARGE = Architecture(layers=24, heads=16, hidden=1024, intermediate=4096)
SMALL = (
    Architecture(layers=2, heads=4, hidden=32, intermediate=64),
    Architecture(layers=2, heads=4, hidden=64, intermediate=64),
)
BERT, XLM_R = 30522, 250002  # tokens of their vocabularies
SAME = 1e-4  # relative difference of gradients of one process and of two, at most
KERNEL = "heads of {head_sizes}, {type}: error {error:.1e}, plain {error_of_plain:.1e}, time {time:.2f}"
STEP = (
    "{shape} ({precision}, students: {companions}): {seconds:.3g} s ({predicted_seconds:.3g} predicted), "
    "{gigabytes:.2g} GB ({predicted_gigabytes:.2g} predicted), {flops:.2g} FLOP/s"
)
MOST_APART = 2.0  # a prediction that is further from the measurement is told in the verdict


# MiniLMv2's relations of one layer (Wang et al., 2021), and a fine-tuning
SHAPES = [
    *(
        StepShape(f"6x{width} under {name}", STUDENTS[width], teacher, BERT, 64, 512)
        for width in STUDENTS
        for name, teacher in (("base", BASE), ("large", LARGE))
    ),
    StepShape("6x384 under XLM-R base", STUDENTS[384], BASE, XLM_R, 64, 256),
    StepShape("fine-tuning of 6x384 at 128", STUDENTS[384], None, BERT, 32, 128),
]
PRECISIONS = ("tf32", "float32")
PLAIN = StepShape("6x384 under base at 128", STUDENTS[384], BASE, BERT, 16, 128)  # next to which a plain step is timed
COMPANIONS = (2, 4, 8)


def shapes_on(device: str) -> list[StepShape]:
    """Return the steps that are measured on a device; on a CPU small ones of the same kinds."""
    shapes = SHAPES
    if device == "cpu":
        small, teacher = SMALL
        shapes = [each._replace(student=small, teacher=each.teacher and teacher, vocabulary=100) for each in shapes]
        shapes = [each._replace(rows=4, length=16, precision="float32") for each in shapes]
    first = shapes[0]
    others = [first._replace(precision=each) for each in PRECISIONS if device == "cuda"]
    return [*shapes, *others, *(first._replace(companions=number) for number in COMPANIONS)]


def terms_of(shape: StepShape) -> list[TermSettings]:
    """Return the loss of a step: three relations of the last layers, or labels."""
    if shape.teacher is None:
        return [LABELS]
    heads = 48 if shape.teacher.hidden % 48 == shape.student.hidden % 48 == 0 else shape.teacher.heads
    options = {**catalogue.objectives()["relations"].options, "pairs": ["q-q", "k-k", "v-v"], "heads": heads}
    layers = [(shape.student.layers, shape.teacher.layers)]
    return [TermSettings(objective="relations", version=1, pairs=layers, weight=1.0, options=options)]


def predicted(shape: StepShape, speed: Speed) -> tuple[float, float, float]:
    """Return what the cost model predicts of a step: seconds, bytes, and FLOPs of matrix products."""
    schedule, rows = SCHEDULE.model_copy(update={"batch_size": shape.rows}), Rows(shape.rows, shape.length)
    sizes = (shape.vocabulary, shape.student, shape.teacher)
    step = TrainingCost(
        terms_of(shape), schedule, rows, shape.length, lambda _: work.classifier(NUM_LABELS), shape.precision, *sizes
    )
    total = step.own.times(shape.companions) + step.taught
    return 3600 * speed.hours(total), step.step.bytes(shape.rows), total.flops


def measure(shape: StepShape, device: str, found: Mapping[str, Any]) -> dict[str, object]:
    """Return what a step takes next to its predictions, which leave out companions' memory.

    Args:
        shape: the step.
        device: 'cpu' or 'cuda'.
        found: what is measured already; `flops` of it, FLOPs a second, stand in for the guess.
    """
    training = Steps(Models(shape, device), terms_of(shape))
    taken, held, guess = (
        median_seconds(training.step, device),
        peak_memory(training.step, device),
        GUESSED[device == "cuda"],
    )
    expected, size, done = predicted(shape, replace(guess, start=0.0, flops=found.get("flops", guess.flops)))
    return {
        "shape": shape.name,
        "precision": shape.precision,
        "companions": shape.companions,
        "seconds": taken,
        "predicted_seconds": expected,
        "gigabytes": held / 1e9,
        "predicted_gigabytes": size / 1e9,
        "flops": done / taken,
    }


def kernel(device: str, sizes: tuple[int, int], dtype: torch.dtype) -> dict[str, object]:
    """Return the errors of the form that runs here, and of `plain`, for a head size and a type, and the ratio of times.

    Errors are relative to float64, the largest of those of the loss and its gradients, as norms.
    """
    place = torch.device(device)
    form, heads, length = form_on(place), 48 if device == "cuda" else 2, 512 if device == "cuda" else 24
    problem = Problem.draw((4, length, sizes[0] * heads, sizes[1] * heads, heads), dtype, True, place)
    with float32_products("float32"):
        exact = problem.wide().solve(plain)
        errors = [
            max(float((x - y).norm() / y.norm()) for x, y in zip(problem.solve(each), exact, strict=True))
            for each in (form, plain)
        ]
    return {
        "head_sizes": list(sizes),
        "type": str(dtype).removeprefix("torch."),
        "error": errors[0],
        "error_of_plain": errors[1],
        "time": median_seconds(lambda: problem.solve(form), device)
        / median_seconds(lambda: problem.solve(plain), device),
        "agrees": errors[0] <= max(TOLERANCE[dtype], 2 * errors[1]),
    }


def resumed(device: str) -> float:
    """Return how far weights of a resumed step are from those of the step that was not interrupted: 0 if equal."""
    shape = shapes_on(device)[0]
    training = Steps(Models(shape, device), terms_of(shape))
    training.step()
    own, optimiser = training.parameters[0], training.optimisers[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.safetensors"
        state = checkpoint.pack_state(own, {}, optimiser)
        save_file({name: tensor.contiguous() for name, tensor in state.items()}, file)
        training.step()
        whole = training.weights()
        checkpoint.unpack_state([file], own, {}, optimiser)
    training.step()
    return float((training.weights() - whole).abs().max())


def loaded(device: str) -> float:
    """Return the tokens a second of masked batches of a made corpus that one process prepares."""
    blocks, length = (1 << 13, 512) if device == "cuda" else (64, 16)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids = np.random.default_rng(1).integers(5, BERT, (blocks, length)).astype(np.uint16)
        sums = write_blocks(folder, [ids], length, np.uint16)
        CorpusInfo(blocks, 4, 0, [0, 1, 2, 3, 4], BERT, [], sums).write(folder)
        batches = MaskedBatches(folder, 0.15, 32, seed=1)
        (taken,) = times(lambda: [batches[number] for number in range(blocks // 32)], device, 1)
    return blocks * length / taken


@on_every_gpu
def gradients(job: RunningJob, shape: StepShape, file: str) -> None:
    """Write the gradients of a step without dropout, of which each process of the job computes its rows."""
    models, rows = Models(shape, job.device), shape.rows // job.processes
    models.students[0].eval()
    models.batch = models.batch.part(job.rank * rows, (job.rank + 1) * rows).to(job.device)
    own = Steps(models, terms_of(shape)).gradients() / job.processes
    if processes.are_several():
        processes.add_up([own])
    if job.writes:
        save_file({"gradients": own.cpu()}, file)


def apart(device: str) -> float:
    """Return how far the gradients of two processes are from those of one, relative to these; NCCL joins two GPUs."""
    shape = shapes_on(device)[0]._replace(rows=4, precision="float32")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w", encoding="utf-8") as log:
        for count in (1, 2):
            gradients(RunningJob("bench gpu", log, gpu=device == "cuda", gpus=count), shape, f"{folder}/{count}")
        one, two = (load_file(f"{folder}/{count}")["gradients"] for count in (1, 2))
    return float((two - one).norm() / one.norm())


def lines(device: str, output: Path = OUTPUT, limit: float = BENCH) -> Iterator[str]:
    """Measure on a device, write it to a file and the calibration of `retort cost`; yield lines of a report.

    Args:
        device: 'cpu' or 'cuda'.
        output: the file.
        limit: seconds; a part that would end later, if it took as long as the longest before it, is left out and told.

    Raises:
        RetortError: there is no GPU and one is asked for.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise RetortError(f"torch {torch.__version__} sees no GPU", "run it on a node that has one")
    if device == "cpu":
        torch.set_num_threads(1)  # as in a training job of the workflow
    found: dict[str, Any] = {
        **run_environment(device, torch.get_num_threads()),
        "kernels": [],
        "steps": [],
        "left_out": [],
    }
    form = choose_ahead(torch.device(device)) or "cached: a CPU"
    yield f"{found['device']}, torch {torch.__version__}; relations: {form}"
    end, longest = time.monotonic() + limit, 0.0
    for part in _parts(device, found, output):
        began = time.monotonic()
        if began + longest > end:
            found["left_out"].append(part.name)
            continue
        measured = part.measure()
        if part.key in ("kernels", "steps"):
            found[part.key].append(measured)
            yield part.said.format(**measured)
        else:
            found[part.key] = measured
            yield part.said.format(measured)
        longest = max(longest, time.monotonic() - began)
    if found["left_out"]:
        yield f"Not measured, for want of time: {', '.join(found['left_out'])}."
    found["verdict"] = verdict(found)
    write_json(output, found)
    yield f"{found['verdict']} Send {output} if you like."


class Measurement(NamedTuple):
    """A part of the measurement: its name, its key in the file, what measures it, and how it is told."""

    name: str
    key: str
    measure: Callable[[], Any]
    said: str


def _parts(device: str, found: dict[str, object], output: Path) -> Iterator[Measurement]:
    """Yield what is measured; what is found before a part is there when it is measured."""
    gpu = device == "cuda"
    for sizes, dtype in itertools.product(HEAD_SIZES, TOLERANCE):
        name = f"heads of {sizes} in {dtype}"
        yield Measurement(name, "kernels", partial(kernel, device, sizes, dtype), KERNEL)
    speed = ("bfloat16", True, STORED, 20.0) if gpu else ("float32", False, output.with_name("calibration.json"), 0.1)
    yield Measurement("the speed", "flops", partial(calibrate, *speed), "{:.2g} FLOP/s in training, for `retort cost`")
    yield Measurement("resuming", "resumed", partial(resumed, device), "a resumed step differs by {:.1g}")
    if not gpu or torch.cuda.device_count() > 1:
        told = "gradients of two processes differ from those of one by {:.1g}"
        yield Measurement("two processes", "two processes", partial(apart, device), told)
    yield Measurement("loading", "loaded", partial(loaded, device), "{:.2g} tokens a second from one process")
    for precision in ("float32", "bfloat16"):
        name, shape = f"a plain step in {precision}", PLAIN._replace(precision=precision)
        run = partial(against_plain, shape, terms_of(shape), device)
        yield Measurement(name, name, run, f"a step takes {{:.2f}} of the time of {name}, written with transformers")
    for shape in shapes_on(device):
        name = f"{shape.name} ({shape.precision}, {shape.companions})"
        yield Measurement(name, "steps", partial(measure, shape, device, found), STEP)


def verdict(found: dict[str, Any]) -> str:
    """Return what was found, in a sentence."""
    wrong = [each for each in found["kernels"] if not each["agrees"]]
    said = [f"{len(wrong)} of {len(found['kernels'])} kernels are too far off" if wrong else "kernels agree"]
    if "resumed" in found:
        said += ["a resumed step differs" if found["resumed"] else "a resumed training goes on in the same numbers"]
    if (difference := found.get("two processes")) is not None:
        said += [f"two processes {'differ from' if difference > SAME else 'give the gradients of'} one"]
    if ratios := sorted(each["seconds"] / each["predicted_seconds"] for each in found["steps"]):
        beyond = sum(not 1 / MOST_APART <= ratio <= MOST_APART for ratio in ratios)
        said += [
            f"{beyond} of {len(ratios)} steps take more than {MOST_APART:g} times as long, or as short, as predicted "
            f"(median {ratios[len(ratios) // 2]:.2g})"
        ]
    return f"On {found['device']}, {'; '.join(said)}."
