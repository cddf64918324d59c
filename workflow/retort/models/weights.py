"""Check the weights in a folder: they can be read, form a complete encoder, and are finite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from retort.checksums import remedy_of_model
from retort.errors import RetortError
from retort.models import divergence

FILE = "model.safetensors"
ENCODER = ("embeddings", "encoder")  # modules of every family; poolers and heads may be new


@contextlib.contextmanager
def reading_weights(folder: Path | str) -> Iterator[None]:
    """Turn the errors of libraries about damaged weights into a `RetortError`.

    Raises:
        RetortError: the block could not read the weights.
    """
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise RetortError(f"{_file(folder)} cannot be read ({reason})", remedy_of_model(folder)) from error


def check_complete(folder: Path | str, model: Any, missing: Iterable[str]) -> None:
    """Check that a folder holds all weights of the embeddings and layers of a model.

    A missing pooler or head is allowed, and starts at random.

    Args:
        folder: the folder.
        model: the model.
        missing: the names of the model's weights that the folder lacks.

    Raises:
        RetortError: a missing weight belongs to the embeddings or to a layer.
    """
    prefix, parameters = f"{model.base_model_prefix}.", {name for name, _ in model.named_parameters()}
    lacks = sorted(
        name
        for name in parameters.intersection(missing)
        if name.removeprefix(prefix).partition(".")[0].startswith(ENCODER)
    )
    if lacks:
        count = f"{len(lacks)} weight{'s' * (len(lacks) != 1)}"
        raise RetortError(f"{_file(folder)} lacks {count} of the encoder, such as {lacks[0]}", remedy_of_model(folder))


def check_shapes(folder: Path | str, differing: Iterable[tuple[str, Iterable[int], Iterable[int]]]) -> None:
    """Check that the weights of a folder have the shapes that its config.json and the head require.

    Args:
        folder: the folder.
        differing: (name, shape, required shape) of each weight with another shape.

    Raises:
        RetortError: there is such a weight.
    """
    for name, held, right in sorted(differing):
        sizes = [" x ".join(map(str, shape)) for shape in (held, right)]
        raise RetortError(
            f"{_file(folder)} holds {name} of {sizes[0]} numbers, not {sizes[1]}", remedy_of_model(folder)
        )


def check_finite(folder: Path | str, model: torch.nn.Module) -> None:
    """Check that all weights of a model are finite, unless a note says that their training diverged.

    Args:
        folder: the folder that the weights were read from.
        model: the model.

    Raises:
        RetortError: a weight is NaN or infinite.
    """
    with torch.no_grad():
        # a fast test first: a finite sum has only finite summands; but a sum of finite ones may overflow
        bad = (name for name, weight in model.named_parameters() if not weight.sum().isfinite())
        bad = (name for name in bad if not model.get_parameter(name).isfinite().all())
        name = next(bad, None)
    if name is not None and not divergence.is_noted(folder):
        raise RetortError(f"{_file(folder)} holds NaN or infinity in {name}", remedy_of_model(folder))


def _file(folder: Path | str) -> Path:
    return Path(folder) / FILE
