"""Checks of single numbers: sizes and scores of models, averages, relative changes, values that a metric can have."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import combinations

from retort.audit.base import (
    TINY,
    Build,
    Finding,
    Looked,
    Reported,
    ReportedNumber,
    Sort,
    by_column,
    group_by,
    register,
    reported_span,
)
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


def _build_of(reported: Reported, entry: ReportedNumber) -> Build | None:
    return reported.models.get(entry.cell.identity) or reported.models.get(entry.cell.student)


@register("parameters", Sort.WRONG)
def sizes_of_models(reported: Reported) -> Looked:
    """Check that a reported size of a model follows from its architecture and vocabulary, with the pooler or not."""
    for entry in reported.entries:
        build = _build_of(reported, entry)
        if build and entry.cell.metric in ("parameters", "without_pooler"):
            plain, pooled = (size / 1e6 for size in parameters(build))
            other = f"{plain:.1f}M, with the pooler {pooled:.1f}M"
            why = f"{build.architecture.layers} layers of {build.architecture.hidden}, {build.vocabulary:,} tokens"
            is_right = entry.number.is_size(plain) or entry.number.is_size(pooled)
            yield 1, None if is_right else entry.finding(other, why)


@register("same-model", Sort.UNUSUAL)
def same_model(reported: Reported) -> Looked:
    """Check that papers that build or fine-tune one model alike report scores within a point of each other.

    Models are alike if they have the same teacher, architecture and objectives; mapped layers and schedules may differ.
    The first row of a paper with a score counts. Cells that `audit.yaml` calls built differently are left out.
    """
    scores = [one for one in reported.entries if one.is_score and not one.cell.quoted]
    differently = {
        (paper, *key) for paper, said in reported.statements.items() for one in said if one.built for key in one.keys
    }
    built = [one for one in scores if one.cell.identity in reported.models and one.key not in differently]
    for alike in group_by(built, lambda one: reported.models[one.cell.identity]).values():
        papers: dict[str, dict[tuple[str, ...], ReportedNumber]] = {}
        for entry in alike:
            papers.setdefault(entry.paper, {}).setdefault(entry.measure, entry)
        for (paper, numbers), (other, others) in combinations(papers.items(), 2):
            pairs = [(entry, others[measure]) for measure, entry in numbers.items() if measure in others]
            yield len(pairs), None
            apart = [pair for pair in pairs if abs(pair[0].number.value - pair[1].number.value) > APART]
            if apart:
                (where, texts), (elsewhere, against) = (_reported_at(side) for side in zip(*apart, strict=True))
                yield 0, Finding(paper, where, texts, against, f"built alike in {other}, {elsewhere}")


def _reported_at(entries: tuple[ReportedNumber, ...]) -> tuple[str, str]:
    """Return where some entries are reported, and the numbers; the columns of one row are named together."""
    rows = group_by(entries, lambda entry: (label_of(entry.table), entry.cell.row)).items()
    places = [", ".join([*row, *(entry.cell.column for entry in same)]) for row, same in rows]
    return "; ".join(places), ", ".join(entry.number.text for entry in entries)


@register("speed-ups", Sort.UNUSUAL)
def speed_ups(reported: Reported) -> Looked:
    """Check that an architecture has the same speed-up over a base model in every paper."""
    for (layers, hidden), measured in group_by(_factors(reported), lambda item: item[0]).items():
        _, first, factor = measured[0]
        others = [(entry, value) for _, entry, value in measured if entry.paper != first.paper]
        differing = [(entry, value) for entry, value in others if abs(value / factor - 1) > FASTER]
        places = "; ".join(entry.place_next_to(first) for entry, _ in differing)
        texts = ", ".join(f"{value:.1f}" for _, value in differing)
        why = f"{layers} layers of {hidden} in {places}"
        yield len(others), first.finding(texts, why) if differing else None


def _factors(reported: Reported) -> Iterator[tuple[tuple[int, int], ReportedNumber, float]]:
    """Yield (layers, width), entry and speed-up: as reported, or from the latencies of the entry's column."""
    columns = by_column(reported.entries)
    for entry, _ in reported.in_rows():
        build, cell = _build_of(reported, entry), entry.cell
        if build is None or build.architecture.layers == BASE:
            continue
        sizes = build.architecture.layers, build.architecture.hidden
        if cell.metric == "speed-up":
            yield sizes, entry, entry.number.value
        if cell.metric == "latency":
            column = columns[entry.paper, entry.table, cell.column]
            builds = ((one, reported.models.get(one.cell.identity)) for one in column)
            base = next((one for one, model in builds if model and model.architecture.layers == BASE), None)
            if base:
                yield sizes, entry, base.number.value / entry.number.value


@register("averages", Sort.CONFLICT)
def averages(reported: Reported) -> Looked:
    """Check that a reported average is the mean of its columns, as far as their rounding lets it."""
    for entry, row in reported.in_rows():
        names = entry.cell.spec.mean_of
        if not names or not all(name in row for name in names):
            continue
        numbers = [row[name].number for name in names]
        mean = statistics.mean(number.value for number in numbers)
        slack = entry.number.half + statistics.mean(number.half for number in numbers) + TINY
        why = f"the mean of the row's {len(numbers)} numbers; rounding explains at most {slack:.2f}"
        yield 1, entry.finding(f"{mean:.2f}", why) if abs(mean - entry.number.value) > slack else None


@register("changes", Sort.CONFLICT)
def changes(reported: Reported) -> Looked:
    """Check that a reported relative change follows from the two numbers, as far as their rounding lets it."""
    for entry, base, own in reported.changed():
        if base.value:  # there is no change in % from 0
            ratio = own.value / base.value
            change = 100 * (ratio - 1)
            slack = 100 * (own.half + abs(ratio) * base.half) / abs(base.value) + entry.number.half + TINY
            why = f"{own.text} against {base.text}; rounding explains at most {slack:.2f}"
            yield 1, entry.finding(f"{change:.2f}%", why) if abs(change - entry.number.value) > slack else None


@register("floors", Sort.UNUSUAL)
def floors(reported: Reported) -> Looked:
    """Check that a score on dev is not below that of a model that always gives the commonest answer."""
    floor = {(task, metric): value for task, facts in reported.facts.items() for metric, value in facts.floors.items()}
    held = [one for one in reported.entries if one.cell.split == "dev" and (one.cell.task, one.cell.metric) in floor]
    for (paper, table, column), entries in by_column(held).items():
        cell = entries[0].cell
        least = floor[cell.task, cell.metric]
        below = [entry for entry in entries if entry.number.value + entry.number.half <= least]
        yield len(entries), None
        if below:
            rows = below[0].cell.row if len(below) == 1 else f"{len(below)} of {len(entries)} rows"
            why = f"{cell.metric} of always the commonest answer; {reported.facts[cell.task].source}"
            yield 0, Finding(paper, f"{label_of(table)}, {column}, {rows}", reported_span(below), f"{least:g}", why)


@register("exact-match", Sort.CONFLICT)
def exact_match(reported: Reported) -> Looked:
    """Check that an exact match is never above the F1 of the same answers."""
    why = "an answer that matches exactly has an F1 of 1"
    for em, row in reported.in_rows():
        same = ("exact", "f1", em.cell.task, em.cell.subset)
        for f1 in row.values():
            if (em.cell.metric, f1.cell.metric, f1.cell.task, f1.cell.subset) == same:
                above = em.number.value > f1.number.value
                yield 1, em.finding(f"at most {f1.number.text}", why) if above else None


@register("reachable", Sort.WRONG)
def reachable(reported: Reported) -> Looked:
    """Check that an accuracy over a whole dev set is a count of right answers divided by the number of questions."""
    for entry in reported.entries:
        cell, runs = entry.cell, entry.runs
        # the number of runs behind a quoted number is unknown
        if (cell.metric, cell.split, cell.subset, cell.quoted) != ("accuracy", "dev", "", "") or not runs:
            continue
        if cell.task not in reported.facts:
            continue
        questions = reported.facts[cell.task].sizes["dev"] * runs
        nearest = round(entry.number.value * questions / 100)
        value = 100 * nearest / questions
        over = f"{questions} answers" if runs == 1 else f"{questions} answers of {runs} runs"
        why = f"{nearest} of {over} are {value:.3f} %, the next count is further; perhaps rounded twice, or a mean"
        is_far = abs(value - entry.number.value) > entry.number.half + TINY
        yield 1, entry.finding(f"{value:.2f}", why) if is_far else None
