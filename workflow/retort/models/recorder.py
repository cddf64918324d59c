"""Record the activations of a model that objectives read, with hooks on its modules while it runs.

Only this file knows the module names of transformers' encoders. Only what is asked for is kept, and `output_attentions`
is never used, because it forces slow attention: queries, keys and values are recorded at their projections, and the
scores are computed from them for the layers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from retort.batch import Batch
from retort.objectives.base import heads_of, product
from retort.registry import unknown
from retort.specs.catalogue import BASIS, at_all_positions

Key = tuple[str, int | None]  # (activation, layer); layer 0 is the embeddings, None what a model has once


@dataclass(frozen=True)
class Family:
    """How a family of encoders differs from the others; inside a layer all families have the same modules.

    Args:
        embeddings: modules from input ids to the input of layer 1, in order; a model may lack the later ones.
        masked_lm: modules from the last hidden states to the logits over the vocabulary, in order.
        first_position: the position id of a text's first token; RoBERTa counts from its padding token's id.
        tokenizer: the class that AutoTokenizer loads, where the tokenizer's own files name none.
    """

    embeddings: tuple[str, ...] = ("embeddings",)
    masked_lm: tuple[str, ...] = ("lm_head",)
    first_position: int = 0
    tokenizer: str = "BertTokenizer"


FAMILIES = {
    "bert": Family(masked_lm=("cls",)),
    "roberta": Family(first_position=2, tokenizer="RobertaTokenizer"),
    "xlm-roberta": Family(first_position=2, tokenizer="XLMRobertaTokenizer"),
    "electra": Family(("embeddings", "embeddings_project"), ("generator_predictions", "generator_lm_head")),
}

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
    """Raised by a hook when everything asked for is recorded, so that the layers above do not run."""


def basis(keys: Iterable[Key]) -> set[Key]:
    """Return the keys to record so that all `keys` can be computed; embeddings are layer 0 of the hidden states."""
    return {
        (name, 0 if activation == "embeddings" else layer)
        for activation, layer in keys
        for name in BASIS.get(activation, (activation,))
    }


def derive(keys: Iterable[Key], caught: dict[Key, Tensor], heads: int, mask: Tensor) -> dict[Key, Tensor]:
    """Compute the activations asked for from the recorded ones.

    scores: (batch, heads, query, key), divided by the square root of the head size, before masking.
    cls: (batch, width), the hidden state at position 0.
    undropped-context: (batch, length, width), softmax(scores) V of all heads as it is without dropout.

    Args:
        keys: the (activation, layer) keys asked for.
        caught: the recorded activations.
        heads: the model's attention heads.
        mask: the attention mask, (batch, length), True at real tokens.
    """
    activations = {}
    for activation, layer in keys:
        if activation == "scores":
            # Q K^T / sqrt(d_k), the argument of the softmax in eq. 4 of Udagawa et al. (2023)
            queries, keys_ = (heads_of(caught[name, layer], heads) for name in ("queries", "keys"))
            activations[activation, layer] = product(queries, keys_.transpose(-1, -2)) / math.sqrt(queries.shape[-1])
        elif activation == "undropped-context":
            queries, keys_, values = (heads_of(caught[name, layer], heads) for name in ("queries", "keys", "values"))
            context = F.scaled_dot_product_attention(queries, keys_, values, attn_mask=mask[:, None, None, :])
            activations[activation, layer] = context.transpose(1, 2).flatten(2)
        elif activation == "cls":
            activations[activation, layer] = caught["hidden", layer][:, 0]
        elif activation == "embeddings":
            activations[activation, layer] = caught["hidden", 0]
        else:
            activations[activation, layer] = caught[activation, layer]
    return activations


def family_of(config: Any) -> Family:
    """Return the family of a model with this config.

    Raises:
        RetortError: the family is not supported.
    """
    if config.model_type not in FAMILIES:
        raise unknown("family of encoders", config.model_type, FAMILIES)
    return FAMILIES[config.model_type]


def embeddings_of(model: Any) -> list[nn.Module]:
    """Return the modules from input ids to the input of layer 1; a projection of narrow embeddings is the last."""
    modules = dict(model.base_model.named_children())
    return [modules[name] for name in family_of(model.config).embeddings if name in modules]


def words_of(model: Any, input_ids: Tensor) -> Tensor:
    """Return the word embeddings after the layer norm of the embeddings, (batch, length, width), without dropout."""
    embeddings: Any = embeddings_of(model)[0]
    words: Tensor = embeddings.LayerNorm(embeddings.word_embeddings(input_ids))
    return words


def layers_of(model: Any) -> nn.ModuleList:
    """Return the encoder layers; layer 1 has index 0."""
    layers: nn.ModuleList = model.base_model.encoder.layer
    return layers


def heads_on(model: Any) -> dict[str, nn.Module]:
    """Return the modules above the encoder by name: pooler, task head, masked-LM head, as far as the model has them."""
    modules = {**dict(model.base_model.named_children()), **dict(model.named_children())}
    names = ("pooler", "classifier", "qa_outputs", *family_of(model.config).masked_lm)
    return {name: modules[name] for name in names if name in modules}


def masked_lm_logits(model: Any, hidden: Tensor) -> Tensor:
    """Return the logits of the masked-LM head, (positions, vocabulary), for last hidden states (positions, width)."""
    for name in family_of(model.config).masked_lm:
        hidden = getattr(model, name)(hidden)
    return hidden


def _module(model: Any, activation: str, layer: int) -> tuple[nn.Module, bool]:
    """Return the module of an activation, and whether the activation is its input rather than its output."""
    if layer == 0:
        return embeddings_of(model)[-1], False  # (batch, length, width): what enters layer 1
    module, at_input = MODULES[activation]
    return layers_of(model)[layer - 1].get_submodule(module), at_input


def mask_of(batch: Batch) -> Tensor | None:
    """Return the mask that attention takes, (batch, 1, query, key), True at real keys; None if all tokens are real.

    From a mask (batch, length), transformers would make the same, but only after it has waited for the GPU to tell
    whether any token is padding.
    """
    rows, length = batch.attention_mask.shape
    padded = not batch.attention_mask.all() if batch.padded is None else batch.padded
    return batch.attention_mask[:, None, None, :].expand(rows, 1, length, length) if padded else None


class Recorder:
    """A recorder, which runs a model and returns its activations.

    What nothing reads is not computed: layers above the last one read, and, where only position 0 of the last layer is
    read, the other positions after its attention.

    Args:
        model: an encoder of transformers, with or without a head.
        keys: the (activation, layer) keys to record; the logits are ('logits', None).
        stop: do not run the layers above the last activation that is recorded; no effect if the logits are.
    """

    def __init__(self, model: nn.Module, keys: Iterable[Key], stop: bool = True) -> None:
        self.model: Any = model
        self.keys = set(keys)
        self.to_record = {(activation, layer) for activation, layer in basis(self.keys) if activation != "logits"}
        self.logits = ("logits", None) in self.keys
        self.stop = stop and not self.logits
        self.caught: dict[Key, Tensor] = {}
        self.running = False  # hooks do nothing while others run the model
        self.handles = [self._hook(activation, layer or 0) for activation, layer in self.to_record]
        if self._first_position_suffices():
            last = layers_of(model)[-1].get_submodule("attention.output")
            self.handles.append(last.register_forward_pre_hook(self._cut))

    def _first_position_suffices(self) -> bool:
        """Return whether nothing reads what the last layer computes from its attention, but at position 0."""
        read = {activation for activation, layer in self.keys if layer == len(layers_of(self.model))}
        return not at_all_positions(read) and (not self.logits or "classifier" in heads_on(self.model))

    def _cut(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """Keep position 0 of the context and of the layer's input, twice (batch, length, width) -> (batch, 1, width).

        Poolers and classifiers read this position alone, and the layers' later products are three quarters of all.
        """
        return tuple(tensor[:, :1] for tensor in inputs) if self.running else None

    def _keep(self, key: Key, value: Any) -> None:
        """Keep a recorded value, and stop the forward pass if it was the last one needed."""
        if not self.running:
            return
        self.caught[key] = value[0] if isinstance(value, tuple) else value  # modules and pre-hooks may give tuples
        if self.stop and len(self.caught) == len(self.to_record):
            raise _StopForward  # the only way out of a running forward pass

    def _hook(self, activation: str, layer: int) -> torch.utils.hooks.RemovableHandle:
        """Register the hook that records an activation."""
        module, at_input = _module(self.model, activation, layer)
        if at_input:
            return module.register_forward_pre_hook(lambda _, inputs: self._keep((activation, layer), inputs))
        return module.register_forward_hook(lambda _, __, out: self._keep((activation, layer), out))

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the activations of one batch by (activation, layer)."""
        self.caught.clear()
        config = self.model.config
        # batches are padded with 0, which is a token in RoBERTa, and RoBERTa finds positions by its padding token
        input_ids = batch.input_ids.masked_fill(~batch.attention_mask, config.pad_token_id or 0)  # (batch, length)
        # eager attention adds its mask to the scores: only transformers makes such a one
        mask = batch.attention_mask if config._attn_implementation == "eager" else mask_of(batch)
        inputs = {"input_ids": input_ids, "attention_mask": mask}
        if config.type_vocab_size > 1:
            inputs["token_type_ids"] = batch.token_type_ids
        # masked-LM: the head runs on the masked positions only, because its vocabulary is as wide as 80 encoder layers
        masked = self.logits and batch.positions is not None
        self.running = True
        try:
            passes = self.to_record or self.logits
            model = self.model.base_model if masked or not self.logits else self.model
            output = model(**inputs) if passes else None
        except _StopForward:
            output = None
        finally:
            self.running = False
        if output is not None and self.logits:
            if masked:
                hidden = output.last_hidden_state.flatten(0, 1)[batch.positions]  # (positions, width)
                self.caught["logits", None] = masked_lm_logits(self.model, hidden)
            else:
                self.caught["logits", None] = logits_of(output)
        if ("words", None) in self.keys:
            self.caught["words", None] = words_of(self.model, input_ids)
        return derive(self.keys, self.caught, config.num_attention_heads, batch.attention_mask)

    def close(self) -> None:
        """Remove the hooks, which leaves the model as it was."""
        for handle in self.handles:
            handle.remove()


def logits_of(output: Any) -> Tensor:
    """Return logits (batch, num_labels), or (batch, length, 2) of a span head: start and end."""
    both = [output[name] for name in ("start_logits", "end_logits") if name in output]
    logits: Tensor = torch.stack(both, dim=-1) if both else output.logits
    return logits
