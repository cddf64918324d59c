"""Tests of attention, whose plain form equals PyTorch's fused one, and of a DistilBERT that is read as a BERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from retort.models import build, encoders
from retort.specs.model import Architecture
from torch import Tensor
from torch.nn import functional as F
from transformers import DistilBertConfig, DistilBertForMaskedLM, DistilBertModel

ROWS, HEADS, SIZE = 3, 4, 8


def draw(length: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Return queries, keys and values that take gradients, (rows, heads, length, head size)."""
    draws = torch.Generator().manual_seed(length)
    drawn = torch.randn(3, ROWS, HEADS, length, SIZE, generator=draws, dtype=torch.float64).to(dtype)
    return tuple(tensor.clone().requires_grad_() for tensor in drawn)


def mask_of(length: int) -> Tensor:
    """Return the mask of rows of which the first has all tokens, the second two fewer, the third one."""
    real = torch.tensor([length, max(1, length - 2), 1])
    mask = torch.arange(length) < real[:, None]
    return mask[:, None, None, :].expand(ROWS, 1, length, length)


def output_and_gradients(form: Any, inputs: tuple[Tensor, ...], mask: Tensor | None, **options: float) -> list[Tensor]:
    """Return what a form of attention computes, and the gradients of its inputs."""
    output = form(*inputs, mask, **options)
    return [output, *torch.autograd.grad(output.double().square().sum(), inputs)]


def fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None = None) -> Tensor:
    """Compute attention in PyTorch's own form."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)


@pytest.mark.parametrize("scaling", [None, 0.7])
@pytest.mark.parametrize("length", [1, 7, 33])
@pytest.mark.parametrize("padded", [True, False])
def test_the_plain_form_equals_the_fused_one(length: int, padded: bool, scaling: float | None) -> None:
    inputs, mask = draw(length, torch.float64), mask_of(length) if padded else None
    ours = output_and_gradients(encoders.plain, inputs, mask, scaling=scaling)
    right = output_and_gradients(fused, inputs, mask, scaling=scaling)
    for own, expected in zip(ours, right, strict=True):
        torch.testing.assert_close(own, expected, atol=1e-12, rtol=1e-12)


def test_dropout_drops_weights_and_keeps_their_mean() -> None:
    query, key, _ = draw(16, torch.float64)
    identity = torch.eye(16, dtype=torch.float64).expand(ROWS, HEADS, 16, 16)  # as values: the output is the weights
    torch.manual_seed(1)
    weights = encoders.plain(query, key, identity, None)
    dropped = [encoders.plain(query, key, identity, None, dropout=0.25) for _ in range(400)]
    share = torch.stack([(each == 0).double().mean() for each in dropped]).mean()
    assert float(share) == pytest.approx(0.25, abs=0.005)
    torch.testing.assert_close(torch.stack(dropped).mean(0), weights, atol=0.05, rtol=0.2)


@pytest.mark.parametrize(
    ("dtype", "device", "trains", "length", "dropout", "expected"),
    [
        (torch.bfloat16, "cpu", True, 8, 0.0, True),
        (torch.bfloat16, "cpu", True, encoders.LONGEST + 1, 0.0, False),
        (torch.bfloat16, "cpu", True, encoders.LONGEST + 1, 0.1, True),
        (torch.bfloat16, "cpu", False, 8, 0.0, False),
        (torch.bfloat16, "meta", True, 8, 0.0, False),  # another device than a CPU
        (torch.float32, "cpu", True, 8, 0.1, False),
    ],
)
def test_which_form_runs(
    dtype: torch.dtype, device: str, trains: bool, length: int, dropout: float, expected: bool
) -> None:
    inputs = tuple(tensor.detach().to(device).requires_grad_(trains) for tensor in draw(length, dtype))
    with mock.patch.object(encoders, "plain", wraps=encoders.plain) as plain:
        encoders.context_of(*inputs, None, dropout)
    assert plain.called == expected


@pytest.mark.parametrize("released", [DistilBertModel, DistilBertForMaskedLM])
@pytest.mark.parametrize("head", build.HEADS)
def test_a_distilbert_is_read_as_a_bert_with_the_same_hidden_states(released: Any, head: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    sizes = {"n_layers": 2, "n_heads": 3, "dim": 12, "hidden_dim": 20, "vocab_size": 30, "max_position_embeddings": 16}
    released(DistilBertConfig(**sizes, initializer_range=0.5)).save_pretrained(tmp_path)
    input_ids = torch.tensor([[2, 7, 9, 3, 0], [2, 11, 8, 29, 3]])
    mask = (input_ids != 0).long()
    types = torch.tensor([[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]])
    with torch.no_grad():
        theirs = DistilBertModel.from_pretrained(tmp_path).eval()(input_ids, mask).last_hidden_state
        model: Any = build.load(tmp_path, head, num_labels=2).eval()
        ours = model.base_model(input_ids, mask, token_type_ids=types).last_hidden_state
    assert torch.allclose(ours[mask.bool()], theirs[mask.bool()], atol=1e-6)
    build.check_shape(tmp_path, Architecture(layers=2, heads=3, hidden=12, intermediate=20), vocabulary=30)
