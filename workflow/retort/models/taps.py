"""Taps: what an objective reads of a model, caught at its modules while it runs.

The only file that knows the module names of transformers' encoders. Only what is asked for is kept, never by way of
`output_attentions` (which forces slow attention): queries, keys and values are caught at their projections, and the
scores are computed from them for the layers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from retort.objectives.base import Batch, heads_of, product
from retort.specs.catalogue import BASIS

Key = tuple[str, int | None]


class _Enough(Exception):
    """Everything asked for is recorded: the layers above need not run."""


def basis(keys: Iterable[Key]) -> set[Key]:
    """What must be caught at modules so that all `keys` can be had."""
    return {(name, layer) for tap, layer in keys for name in BASIS.get(tap, (tap,))}


def derive(keys: Iterable[Key], caught: dict[Key, Tensor], heads: int) -> dict[Key, Tensor]:
    """The asked-for taps from the caught ones.

    scores: (batch, heads, query, key), divided by the square root of the head size, before masking.
    cls: (batch, width), the hidden state at position 0.
    """
    found = {}
    for tap, layer in keys:
        if tap == "scores":
            queries, keys_ = (heads_of(caught[name, layer], heads) for name in ("queries", "keys"))
            found[tap, layer] = product(queries, keys_.transpose(-1, -2)) / math.sqrt(queries.shape[-1])
        elif tap == "cls":
            found[tap, layer] = caught["hidden", layer][:, 0]
        else:
            found[tap, layer] = caught[tap, layer]
    return found


def _module(model: Any, tap: str, layer: int) -> tuple[nn.Module, bool]:
    """The module of a tap, and whether its input (rather than its output) is what the tap means."""
    base = model.base_model
    if tap == "embeddings" or (tap == "hidden" and layer == 0):
        return base.embeddings, False
    block = base.encoder.layer[layer - 1]
    attention = getattr(block.attention, "self")  # noqa: B009 - a name that reads like the instance
    places: dict[str, tuple[nn.Module, bool]] = {
        "hidden": (block, False),
        "queries": (attention.query, False),
        "keys": (attention.key, False),
        "values": (attention.value, False),
        "context": (block.attention.output.dense, True),
        "ffn": (block.intermediate, False),
    }
    return places[tap]


class Reader:
    """Runs a model and returns its taps.

    Args:
        model: an encoder of transformers, with or without a head.
        keys: (tap, layer) that are wanted; the logits are ('logits', None).
        stop: leave out the layers above the last tap that is wanted, where no logits are.
    """

    def __init__(self, model: nn.Module, keys: Iterable[Key], stop: bool = True) -> None:
        self.model: Any = model
        self.keys = set(keys)
        self.wanted = {(tap, layer) for tap, layer in basis(self.keys) if tap != "logits"}
        self.logits = ("logits", None) in self.keys
        self.stop = stop and not self.logits
        self.caught: dict[Key, Tensor] = {}
        self.reading = False  # the hooks sleep while others run the model
        self.handles = [self._hook(tap, layer or 0) for tap, layer in self.wanted]

    def _keep(self, key: Key, value: Any) -> None:
        if not self.reading:
            return
        self.caught[key] = value[0] if isinstance(value, tuple) else value
        if self.stop and len(self.caught) == len(self.wanted):
            raise _Enough

    def _hook(self, tap: str, layer: int) -> torch.utils.hooks.RemovableHandle:
        module, at_input = _module(self.model, tap, layer)
        key = (tap, None if tap == "embeddings" else layer)
        if at_input:
            return module.register_forward_pre_hook(lambda _, given: self._keep(key, given))
        return module.register_forward_hook(lambda _, __, out: self._keep(key, out))

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Every asked-for tap of one batch, by (tap, layer)."""
        self.caught.clear()
        given = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long()}
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = batch.token_types
        # masked-LM: the vocabulary is as wide as 80 encoder layers, so the head sees the masked positions only
        masked = self.logits and batch.positions is not None
        self.reading = True
        try:
            output = (self.model.base_model if masked or not self.logits else self.model)(**given)
        except _Enough:
            output = None
        finally:
            self.reading = False
        if output is not None and self.logits:
            if masked:
                hidden = output.last_hidden_state.flatten(0, 1)[batch.positions]
                self.caught["logits", None] = lm_head(self.model)(hidden)
            else:
                self.caught["logits", None] = logits_of(output)
        return derive(self.keys, self.caught, self.model.config.num_attention_heads)

    def close(self) -> None:
        """Nothing; the model is as it was."""
        for handle in self.handles:
            handle.remove()


def logits_of(output: Any) -> Tensor:
    """(batch, classes), or (batch, length, 2) of a span head: start and end."""
    both = [output[name] for name in ("start_logits", "end_logits") if name in output]
    logits: Tensor = torch.stack(both, dim=-1) if both else output.logits
    return logits


def lm_head(model: Any) -> nn.Module:
    """The masked-LM head of an encoder."""
    head: nn.Module = model.cls if hasattr(model, "cls") else model.lm_head
    return head
