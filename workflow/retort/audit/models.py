"""Checks of models: their size against their architecture, and one model in several papers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from retort.audit.base import Build, Entry, Finding, Looked, Printed, by_column, checks, grouped
from retort.tables.layout import label_of

APART = 1.0  # points: report scores of one model in two papers that are farther apart
FASTER = 0.1  # relative difference that speed-ups of one architecture may have
BASE = 12  # layers of a base model


def parameters(build: Build) -> tuple[int, int]:
    """Return the number of parameters of an encoder, without and with its pooler."""
    sizes = build.architecture
    hidden, wide = sizes.hidden, sizes.embedding or sizes.hidden
    # embeddings of tokens, positions and two segments, their layer norm, and a projection if they are narrower
    embeddings = (build.vocabulary + build.positions + 2) * wide + 2 * wide
    projection = (wide + 1) * hidden if sizes.embedding else 0
    # four linear maps of attention, two of the feed-forward network, two layer norms
    layer = 4 * (hidden + 1) * hidden + 2 * hidden * sizes.intermediate + sizes.intermediate + hidden + 4 * hidden
    encoder = embeddings + projection + sizes.layers * layer
    return encoder, encoder + (hidden + 1) * hidden


def _build_of(printed: Printed, entry: Entry) -> Build | None:
    return printed.models.get(entry.cell.identity) or printed.models.get(entry.cell.student)


@checks.register("parameters")
def sizes_of_models(printed: Printed) -> Looked:
    """Check that a printed size of a model follows from its architecture and vocabulary, with or without the pooler."""
    for entry in printed.entries:
        build = _build_of(printed, entry)
        if build and entry.cell.metric in ("parameters", "without_pooler"):
            plain, pooled = (size / 1e6 for size in parameters(build))
            other = f"{plain:.1f}M, with the pooler {pooled:.1f}M"
            why = f"{build.architecture.layers} layers of {build.architecture.hidden}, {build.vocabulary:,} tokens"
            is_right = entry.number.is_size(plain) or entry.number.is_size(pooled)
            yield 1, None if is_right else entry.finding(other, why)


@checks.register("same-model")
def same_model(printed: Printed) -> Looked:
    """Check that papers that build or fine-tune one model alike print scores within a point of each other.

    Models are alike if they have the same teacher, architecture and objectives; mapped layers and schedules may differ.
    The first row of a paper with a score counts.
    """
    scores = [one for one in printed.entries if one.is_score and not one.cell.quoted]
    built = [one for one in scores if one.cell.identity in printed.models]
    for alike in grouped(built, lambda one: printed.models[one.cell.identity]).values():
        papers: dict[str, dict[tuple[str, ...], Entry]] = {}
        for entry in alike:
            papers.setdefault(entry.paper, {}).setdefault(entry.measure, entry)
        for (paper, numbers), (other, others) in combinations(papers.items(), 2):
            pairs = [(entry, others[measure]) for measure, entry in numbers.items() if measure in others]
            yield len(pairs), None
            apart = [pair for pair in pairs if abs(pair[0].number.value - pair[1].number.value) > APART]
            if apart:
                (where, texts), (elsewhere, against) = (_printed_at(side) for side in zip(*apart, strict=True))
                yield 0, Finding(paper, where, texts, against, f"built alike in {other}, {elsewhere}")


def _printed_at(entries: tuple[Entry, ...]) -> tuple[str, str]:
    """Return where some entries are printed, and the numbers; the columns of one row are named together."""
    rows = grouped(entries, lambda entry: (label_of(entry.table), entry.cell.row)).items()
    places = [", ".join([*row, *(entry.cell.column for entry in same)]) for row, same in rows]
    return "; ".join(places), ", ".join(entry.number.text for entry in entries)


@checks.register("speed-ups")
def speed_ups(printed: Printed) -> Looked:
    """Check that an architecture has the same speed-up over a base model in every paper."""
    for (layers, hidden), measured in grouped(_factors(printed), lambda item: item[0]).items():
        _, first, factor = measured[0]
        others = [(entry, value) for _, entry, value in measured if entry.paper != first.paper]
        differing = [(entry, value) for entry, value in others if abs(value / factor - 1) > FASTER]
        places = "; ".join(entry.place_beside(first) for entry, _ in differing)
        texts = ", ".join(f"{value:.1f}" for _, value in differing)
        why = f"{layers} layers of {hidden} in {places}"
        yield len(others), first.finding(texts, why) if differing else None


def _factors(printed: Printed) -> Iterator[tuple[tuple[int, int], Entry, float]]:
    """Yield (layers, width), entry and speed-up: as printed, or from the latencies of the entry's column."""
    columns = by_column(printed.entries)
    for entry, _ in printed.in_rows():
        build, cell = _build_of(printed, entry), entry.cell
        if build is None or build.architecture.layers == BASE:
            continue
        sizes = build.architecture.layers, build.architecture.hidden
        if cell.metric == "speed-up":
            yield sizes, entry, entry.number.value
        if cell.metric == "latency":
            column = columns[entry.paper, entry.table, cell.column]
            builds = ((one, printed.models.get(one.cell.identity)) for one in column)
            base = next((one for one, model in builds if model and model.architecture.layers == BASE), None)
            if base:
                yield sizes, entry, base.number.value / entry.number.value
