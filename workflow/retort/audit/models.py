"""Checks of models: their size against their architecture, and one model in several papers."""

from __future__ import annotations

from itertools import combinations

from retort.audit.base import Build, CheckResult, Entry, Finding, Printed, checks
from retort.specs.printed import OF_A_MODEL
from retort.tables.layout import label_of

APART = 1.0  # points: report scores of one model in two papers that are farther apart
FASTER = 0.1  # relative difference that speed-ups of one architecture may have


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


@checks.register("parameters")
def sizes_of_models(printed: Printed) -> CheckResult:
    """Check that a printed size of a model follows from its architecture and vocabulary, with or without the pooler."""
    count, findings = 0, []
    for entry in printed.entries:
        build = printed.models.get(entry.cell.identity) or printed.models.get(entry.cell.student)
        if entry.cell.metric not in ("parameters", "without_pooler") or build is None:
            continue
        count += 1
        plain, pooled = (size / 1e6 for size in parameters(build))
        if not any(entry.number.is_size(size) for size in (plain, pooled)):
            other = f"{plain:.1f}M, with the pooler {pooled:.1f}M"
            why = f"{build.architecture.layers} layers of {build.architecture.hidden}, {build.vocabulary:,} tokens"
            findings.append(Finding(entry.paper, entry.where, entry.number.text, other, why))
    return CheckResult(count, findings)


@checks.register("same-model")
def same_model(printed: Printed) -> CheckResult:
    """Check that papers that build or fine-tune one model alike print scores within a point of each other.

    Models are alike if they have the same teacher, architecture and objectives; mapped layers and schedules may differ.
    The first row of a paper with a score counts.
    """
    builds: dict[Build, dict[str, dict[tuple[str, ...], Entry]]] = {}
    for entry in printed.entries:
        build, cell = printed.models.get(entry.cell.identity), entry.cell
        if build and cell.task and cell.metric not in OF_A_MODEL and not cell.quoted:
            builds.setdefault(build, {}).setdefault(entry.paper, {}).setdefault(entry.measure, entry)
    findings, count = [], 0
    for papers in builds.values():
        for (paper, numbers), (other, others) in combinations(papers.items(), 2):
            pairs = [(entry, others[measure]) for measure, entry in numbers.items() if measure in others]
            count += len(pairs)
            apart = [pair for pair in pairs if abs(pair[0].number.value - pair[1].number.value) > APART]
            if apart:
                first, second = (_places([pair[at] for pair in apart]) for at in (0, 1))
                sides = [", ".join(pair[at].number.text for pair in apart) for at in (0, 1)]
                findings.append(Finding(paper, first, sides[0], sides[1], f"built alike in {other}, {second}"))
    return CheckResult(count, findings)


def _places(entries: list[Entry]) -> str:
    """Return where some entries are printed; the columns of one row are named together."""
    rows: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        rows.setdefault((entry.table, entry.cell.row), []).append(entry.cell.column)
    return "; ".join(f"{label_of(table)}, {row}, {', '.join(columns)}" for (table, row), columns in rows.items())


@checks.register("speed-ups")
def speed_ups(printed: Printed) -> CheckResult:
    """Check that an architecture has the same speed-up over a base model in every paper."""
    measured: dict[tuple[int, int], dict[str, tuple[Entry, float]]] = {}
    for (paper, table, _), entries in printed.rows().items():
        for entry in entries.values():
            shape, factor = _factor(printed, paper, table, entry)
            if shape and factor:
                measured.setdefault(shape, {}).setdefault(f"{paper}, {entry.where}", (entry, factor))
    findings, count = [], 0
    for (layers, hidden), places in measured.items():
        first, factor = next(iter(places.values()))
        others = [(entry, value) for entry, value in places.values() if entry.paper != first.paper]
        count += len(others)
        differing = [(entry, value) for entry, value in others if abs(value / factor - 1) > FASTER]
        if differing:
            texts = ", ".join(f"{value:.1f}" for _, value in differing)
            why = (
                f"{layers} layers of {hidden} in {'; '.join(f'{entry.paper}, {entry.where}' for entry, _ in differing)}"
            )
            findings.append(Finding(first.paper, first.where, first.number.text, texts, why))
    return CheckResult(count, findings)


def _factor(printed: Printed, paper: str, table: str, entry: Entry) -> tuple[tuple[int, int] | None, float]:
    """Return (layers, width) of an entry's model and its speed-up: as printed, or from the latencies of its column."""
    build = printed.models.get(entry.cell.identity) or printed.models.get(entry.cell.student)
    if build is None or build.architecture.layers == 12:
        return None, 0.0
    shape = build.architecture.layers, build.architecture.hidden
    if entry.cell.metric == "speed-up":
        return shape, entry.number.value
    if entry.cell.metric != "latency":
        return None, 0.0
    base = [
        one.number.value
        for one in printed.entries
        if (one.paper, one.table, one.cell.column) == (paper, table, entry.cell.column)
        and (model := printed.models.get(one.cell.identity)) and model.architecture.layers == 12
    ]  # fmt: skip
    return (shape, base[0] / entry.number.value) if base else (None, 0.0)
