"""Record the activations of a model that objectives read, with hooks on its modules while it runs.

Only this file knows the module names of transformers' encoders. Only the requested activations are kept.
`output_attentions` is never used, because it forces slow attention: queries, keys and values are recorded at their
projections, and scores are computed from them for the layers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.batch import Batch
from retort.models.attention_forms import context_of
from retort.objectives.base import heads_of, product
from retort.registry import unknown
from retort.specs.catalogue import BASIS, at_all_positions

# (activation, layer); layer 0 is the output of the embeddings; the layer is None for logits, which a model has once
Key = tuple[str, int | None]


@dataclass(frozen=True)
class Family:
    """How a family of encoders differs from the others; inside a layer all families have the same modules.

    Args:
        embeddings: modules from input ids to the input of layer 1, in order; a model may lack the later ones.
        masked_lm: modules from the last hidden states to the logits over the vocabulary, in order.
        first_position: the position id of a text's first token; RoBERTa starts after its padding token's id.
        tokenizer: the class that AutoTokenizer loads if the tokenizer's own files name none.
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
    """Raised by a hook when all requested activations are recorded, so that the layers above do not run."""


def basis(keys: Iterable[Key]) -> set[Key]:
    """Return the keys to record from which `derive` can compute all `keys`."""
    return {
        (name, 0 if activation == "embeddings" else layer)
        for activation, layer in keys
        for name in BASIS.get(activation, (activation,))
    }


def derive(keys: Iterable[Key], caught: dict[Key, Tensor], heads: int, mask: Tensor) -> dict[Key, Tensor]:
    """Compute the requested activations from the recorded ones.

    scores: (batch, heads, query, key), divided by the square root of the head size, before masking.
    cls: (batch, width), the hidden state at position 0.
    undropped-context: (batch, length, width), softmax(scores) V of all heads, without dropout.
    embeddings: (batch, length, width), layer 0 of the hidden states.

    Args:
        keys: the requested (activation, layer) keys.
        caught: the recorded activations.
        heads: the model's number of attention heads.
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
            context = context_of(queries, keys_, values, mask[:, None, None, :])
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
    """Return the modules above the encoder by name: pooler, task head and masked-LM head, if the model has them."""
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
        stop: skip the layers above the last requested one; no effect if logits are requested.
    """

    def __init__(self, model: nn.Module, keys: Iterable[Key], stop: bool = True) -> None:
        self.model: Any = model
        self.keys = set(keys)
        self.to_record = {(activation, layer) for activation, layer in basis(self.keys) if activation != "logits"}
        self.logits = ("logits", None) in self.keys
        self.stop = stop and not self.logits
        self.caught: dict[Key, Tensor] = {}
        self.running = False  # if others run the model, the hooks do nothing
        self.handles = [self._hook(activation, layer or 0) for activation, layer in self.to_record]
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

    def _keep(self, key: Key, value: Any) -> None:
        """Store an activation, and stop the forward pass if it was the last one to record."""
        if not self.running:
            return
        self.caught[key] = value[0] if isinstance(value, tuple) else value  # modules and pre-hooks may give tuples
        if self.stop and len(self.caught) == len(self.to_record):
            raise _StopForward

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
        # batches are padded with 0, which is a real token in RoBERTa; its position ids depend on the padding token
        input_ids = batch.input_ids.masked_fill(~batch.attention_mask, config.pad_token_id or 0)  # (batch, length)
        # eager attention adds its mask to the scores; transformers makes that mask itself
        mask = batch.attention_mask if config._attn_implementation == "eager" else mask_of(batch)
        inputs = {"input_ids": input_ids, "attention_mask": mask}
        if config.type_vocab_size > 1:
            inputs["token_type_ids"] = batch.token_type_ids
        # masked-LM: run the head on the masked positions only, because its output is as wide as the vocabulary
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
        """Remove the hooks from the model."""
        for handle in self.handles:
            handle.remove()


def logits_of(output: Any) -> Tensor:
    """Return the logits (batch, num_labels), or (batch, length, 2) for start and end of a span head."""
    both = [output[name] for name in ("start_logits", "end_logits") if name in output]
    logits: Tensor = torch.stack(both, dim=-1) if both else output.logits
    return logits
