"""Record the activations of a model that objectives read, with hooks on its modules while it runs.

Only the requested activations are kept. `output_attentions` is never used, because it forces slow attention: queries,
keys and values are recorded at their projections, and scores are computed from them for the layers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from retort.batch import Batch
from retort.models.encoders import (
    context_of,
    embeddings_of,
    heads_on,
    layers_of,
    masked_lm_logits,
    pooler_of,
    words_of,
)
from retort.objectives.base import heads_of, precise_product
from retort.specs.catalogue import BASIS, at_all_positions

# (activation, layer); layer 0 is the output of the embeddings; the layer is None for what a model has once
Key = tuple[str, int | None]

# The module of each activation inside a layer, and whether the activation is its input rather than its output.
MODULES = {
    "hidden": ("", False),  # (batch, length, width)
    "queries": ("attention.self.query", False),  # (batch, length, width), all heads side by side; keys and values too
    "keys": ("attention.self.key", False),
    "values": ("attention.self.value", False),
    "context": ("attention.output.dense", True),  # softmax(scores) V of all heads, (batch, length, width)
    "ffn": ("intermediate", False),  # after the activation function, (batch, length, intermediate)
}


class _StopForward(Exception):
    """Raised by a hook when all requested activations are recorded, so that the layers above do not run."""


def keys_to_record(keys: Iterable[Key]) -> set[Key]:
    """Return the keys to record from which `derive_activations` can compute all `keys`."""
    return {
        (name, 0 if activation == "embeddings" else layer)
        for activation, layer in keys
        for name in BASIS.get(activation, (activation,))
    }


def _scores(recorded: list[Tensor], heads: int, mask: Tensor) -> Tensor:
    """Return Q K^T / sqrt(d_k), (batch, heads, query, key), not masked: Udagawa et al. (2023), eq. 4."""
    queries, keys = (heads_of(x, heads) for x in recorded)
    return precise_product(queries, keys.transpose(-1, -2)) / math.sqrt(queries.shape[-1])


def _undropped_context(recorded: list[Tensor], heads: int, mask: Tensor) -> Tensor:
    """Return softmax(scores) V of all heads, (batch, length, width), without dropout."""
    queries, keys, values = (heads_of(x, heads) for x in recorded)
    return context_of(queries, keys, values, mask[:, None, None, :]).transpose(1, 2).flatten(2)


# activation -> function of its basis, the number of heads and the attention mask (batch, length)
DERIVED: dict[str, Callable[[list[Tensor], int, Tensor], Tensor]] = {
    "scores": _scores,
    "undropped-context": _undropped_context,
    "cls": lambda recorded, heads, mask: recorded[0][:, 0],  # (batch, width), the hidden state at position 0
}


def derive_activations(keys: Iterable[Key], caught: dict[Key, Tensor], heads: int, mask: Tensor) -> dict[Key, Tensor]:
    """Compute the requested activations from the recorded ones.

    Args:
        keys: the requested (activation, layer) keys; the embeddings are layer 0 of the hidden states.
        caught: the recorded activations.
        heads: the model's number of attention heads.
        mask: the attention mask, (batch, length), True at real tokens.
    """
    found = {}
    for activation, layer in keys:
        names = BASIS.get(activation) or (activation,)
        recorded = [caught[name, 0 if activation == "embeddings" else layer] for name in names]
        found[activation, layer] = DERIVED[activation](recorded, heads, mask) if activation in DERIVED else recorded[0]
    return found


def mask_of(batch: Batch) -> Tensor | None:
    """Return the attention mask (batch, 1, query, key), True at real keys; None if all tokens are real.

    transformers would make the same from a mask (batch, length), but would wait for the GPU to find out whether any
    token is padding.
    """
    rows, length = batch.attention_mask.shape
    padded = not batch.attention_mask.all() if batch.padded is None else batch.padded
    return batch.attention_mask[:, None, None, :].expand(rows, 1, length, length) if padded else None


class Recorder:
    """Run a model and return the requested activations.

    Skip what no key needs: the layers above the last requested one; and, if only position 0 of the last layer is
    needed, the other positions after its attention.

    Args:
        model: an encoder of transformers, with or without a head.
        keys: the (activation, layer) keys to record; the logits are ('logits', None).
    """

    def __init__(self, model: nn.Module, keys: Iterable[Key]) -> None:
        self.model: Any = model
        self.keys = set(keys)
        self.to_record = {
            (activation, layer) for activation, layer in keys_to_record(self.keys) if activation != "logits"
        }
        self.logits = ("logits", None) in self.keys
        self.caught: dict[Key, Tensor] = {}
        self.running = False  # if others run the model, the hooks do nothing
        self.handles = [self._hook(activation, layer) for activation, layer in self.to_record]
        if self._first_position_suffices():
            last = layers_of(model)[-1].get_submodule("attention.output")
            self.handles.append(last.register_forward_pre_hook(self._cut))

    def _first_position_suffices(self) -> bool:
        """Return whether, after the attention of the last layer, only position 0 is needed."""
        read = {activation for activation, layer in self.keys if layer == len(layers_of(self.model))}
        return not at_all_positions(read) and (not self.logits or "classifier" in heads_on(self.model))

    def _cut(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """Cut the context and the layer's input to position 0: (batch, length, width) -> (batch, 1, width) each.

        Poolers and classifiers read only this position, and the rest of the layer is three quarters of its work.
        """
        return tuple(tensor[:, :1] for tensor in inputs) if self.running else None

    def _hook(self, activation: str, layer: int | None) -> torch.utils.hooks.RemovableHandle:
        """Register the hook that records an activation, and ends the forward pass if it is the last one to record."""

        def keep(value: Any) -> None:
            if not self.running:
                return
            self.caught[activation, layer] = value[0] if isinstance(value, tuple) else value
            if not self.logits and len(self.caught) == len(self.to_record):
                raise _StopForward

        if layer is None:  # (batch, width), of a pooler
            return pooler_of(self.model, activation).register_forward_hook(lambda _, __, out: keep(out))
        if layer == 0:  # (batch, length, width): what enters layer 1
            return embeddings_of(self.model)[-1].register_forward_hook(lambda _, __, out: keep(out))
        name, at_input = MODULES[activation]
        module = layers_of(self.model)[layer - 1].get_submodule(name)
        if at_input:
            return module.register_forward_pre_hook(lambda _, inputs: keep(inputs))
        return module.register_forward_hook(lambda _, __, out: keep(out))

    def _run(self, model: Any, inputs: dict[str, Tensor | None]) -> Any:
        """Run a model with the hooks; return its output, or None if the hooks have ended it."""
        self.running = True
        try:
            return model(**inputs)
        except _StopForward:
            return None
        finally:
            self.running = False

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the activations of one batch by (activation, layer)."""
        self.caught.clear()
        config = self.model.config
        # batches are padded with 0, which is a real token in RoBERTa; its position ids depend on the padding token
        input_ids = batch.input_ids.masked_fill(~batch.attention_mask, config.pad_token_id or 0)  # (batch, length)
        inputs = {"input_ids": input_ids, "attention_mask": mask_of(batch)}
        if config.type_vocab_size > 1:
            inputs["token_type_ids"] = batch.token_type_ids
        if self.logits and batch.positions is not None:
            # masked-LM: run the head on the masked positions only, because its output is as wide as the vocabulary
            hidden = self._run(self.model.base_model, inputs).last_hidden_state  # (batch, length, width)
            self.caught["logits", None] = masked_lm_logits(self.model, hidden.flatten(0, 1)[batch.positions])
        elif self.logits:
            self.caught["logits", None] = _logits_of(self._run(self.model, inputs))
        elif self.to_record:
            self._run(self.model.base_model, inputs)
        if ("words", None) in self.keys:
            self.caught["words", None] = words_of(self.model, input_ids)
        return derive_activations(self.keys, self.caught, config.num_attention_heads, batch.attention_mask)

    def close(self) -> None:
        """Remove the hooks from the model."""
        for handle in self.handles:
            handle.remove()


def _logits_of(output: Any) -> Tensor:
    """Return the logits (batch, num_labels), or (batch, length, 2) for start and end of a span head."""
    both = [output[name] for name in ("start_logits", "end_logits") if name in output]
    logits: Tensor = torch.stack(both, dim=-1) if both else output.logits
    return logits
