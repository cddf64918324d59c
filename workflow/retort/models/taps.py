"""Taps: what an objective reads of a model, caught at its modules while it runs.

The only file that knows the module names of transformers' encoders. Only what is asked for is kept, never by way of
`output_attentions` (which forces slow attention): queries, keys and values are caught at their projections, and the
scores are computed from them for the layers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.objectives.base import Batch, heads_of, product
from retort.registry import unknown
from retort.specs.catalogue import BASIS

Key = tuple[str, int | None]


@dataclass(frozen=True)
class Family:
    """What sets a family of encoders apart; inside a layer they are alike.

    Args:
        embeddings: modules from token ids to what enters layer 1, one after another; a model may lack later ones.
        masked_lm: modules from the last hidden states to the vocabulary, one after another.
        first_position: the number of a text's first position; RoBERTa counts on from its padding token.
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

# Where a layer's taps are, and whether the tap is what goes into the module rather than what comes out.
PLACES = {
    "hidden": ("", False),
    "queries": ("attention.self.query", False),
    "keys": ("attention.self.key", False),
    "values": ("attention.self.value", False),
    "context": ("attention.output.dense", True),
    "ffn": ("intermediate", False),
}


class _Enough(Exception):
    """Everything asked for is recorded: the layers above need not run."""


def basis(keys: Iterable[Key]) -> set[Key]:
    """What must be caught at modules so that all `keys` can be had; the embeddings are layer 0 of the hidden states."""
    return {(name, 0 if tap == "embeddings" else layer) for tap, layer in keys for name in BASIS.get(tap, (tap,))}


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
        elif tap == "embeddings":
            found[tap, layer] = caught["hidden", 0]
        else:
            found[tap, layer] = caught[tap, layer]
    return found


def family_of(config: Any) -> Family:
    """The family of a model with this config.

    Raises:
        RetortError: the family is not known here.
    """
    if config.model_type not in FAMILIES:
        raise unknown("family of encoders", config.model_type, FAMILIES)
    return FAMILIES[config.model_type]


def embeddings_of(model: Any) -> list[nn.Module]:
    """The modules from token ids to what enters layer 1: with narrow embeddings the projection is the last of them."""
    modules = dict(model.base_model.named_children())
    return [modules[name] for name in family_of(model.config).embeddings if name in modules]


def layers_of(model: Any) -> nn.ModuleList:
    """The encoder layers, the first at index 0."""
    layers: nn.ModuleList = model.base_model.encoder.layer
    return layers


def heads_on(model: Any) -> dict[str, nn.Module]:
    """What stands on the encoder, by name: a pooler, a classification head, a masked-LM head; those that there are."""
    places = {**dict(model.base_model.named_children()), **dict(model.named_children())}
    names = ("pooler", "classifier", *family_of(model.config).masked_lm)
    return {name: places[name] for name in names if name in places}


def masked_lm_logits(model: Any, hidden: Tensor) -> Tensor:
    """(positions, vocabulary) logits of the masked-LM head for (positions, width) last hidden states."""
    for name in family_of(model.config).masked_lm:
        hidden = getattr(model, name)(hidden)
    return hidden


def _module(model: Any, tap: str, layer: int) -> tuple[nn.Module, bool]:
    """The module of a tap, and whether its input (rather than its output) is what the tap means."""
    if layer == 0:
        return embeddings_of(model)[-1], False
    place, at_input = PLACES[tap]
    return layers_of(model)[layer - 1].get_submodule(place), at_input


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
        if at_input:
            return module.register_forward_pre_hook(lambda _, given: self._keep((tap, layer), given))
        return module.register_forward_hook(lambda _, __, out: self._keep((tap, layer), out))

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Every asked-for tap of one batch, by (tap, layer)."""
        self.caught.clear()
        config = self.model.config
        # batches are padded with 0, which in RoBERTa is a token; its positions are counted by the padding token
        ids = batch.input_ids.masked_fill(~batch.mask, config.pad_token_id or 0)
        given = {"input_ids": ids, "attention_mask": batch.mask.long()}
        if config.type_vocab_size > 1:
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
                self.caught["logits", None] = masked_lm_logits(self.model, hidden)
            else:
                self.caught["logits", None] = output.logits
        return derive(self.keys, self.caught, config.num_attention_heads)

    def close(self) -> None:
        """Nothing; the model is as it was."""
        for handle in self.handles:
            handle.remove()
