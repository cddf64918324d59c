"""Draw scores against latency, one point per architecture, with the Pareto front."""

from __future__ import annotations

import itertools
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from retort.figures.kinds import Inputs, Kind, kinds
from retort.figures.style import MUTED, PAPER, figure, not_drawn, points, save
from retort.tables.lines import profile_lines, score_lines
from retort.tables.tidy import Line

# Where a label may stand beside its point: offset to the right and up (in points, 1/72 inch), horizontal and vertical
# alignment.
PLACES = [
    (9, 7, "left", "bottom"), (9, -7, "left", "top"), (-9, 7, "right", "bottom"), (-9, -7, "right", "top"),
    (0, 16, "center", "bottom"), (0, -16, "center", "top"),
]  # fmt: skip


def collect(inputs: Inputs) -> list[Line]:
    """Return two tidy lines per point: its score and its latency."""
    profiles = profile_lines(inputs.study, inputs.paper, inputs.name, dict(inputs.profiles))
    scores = score_lines(inputs.study, inputs.paper, inputs.name, inputs.scores)
    return scores + [line for line in profiles if line.metric == "latency"]


def front(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto front: the (latency, score) pairs that no other pair beats at both, from fast to slow."""
    best: list[tuple[float, float]] = []
    for latency, score in sorted(places, key=lambda place: (place[0], -place[1])):
        if not best or score > best[-1][1]:
            best.append((latency, score))
    return best


def label_points(axes: Axes, labels: list[tuple[str, float, float]], bars: list[Bbox]) -> None:
    """Put each label at the first position beside its point that hides no point, error bar or other label.

    If every position hides something, the one that hides the least is used; leaving the axes counts twice.
    """
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    frame, taken = axes.get_window_extent(renderer), list(bars)
    for text, x, y in labels:
        tried: list[Any] = []
        for right, up, across, along in PLACES:
            note = axes.annotate(text, (x, y), (right, up), textcoords="offset points", ha=across, va=along, zorder=4)
            box = note.get_window_extent(renderer)
            hidden = sum(box.padded(4).overlaps(other) for other in taken)
            outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
            tried.append((hidden + 2 * outside, len(tried), note, box))
        best = min(tried, key=lambda item: item[:2])
        for item in tried:
            if item is not best:
                item[2].remove()
        taken.append(best[3])


def _bars(axes: Axes, drawn: list[tuple[Line, Line]]) -> list[Bbox]:
    """Return boxes around the two error bars of each point, in pixels."""
    boxes = []
    for score, latency in drawn:
        (x, y), wide, high = (latency.mean or 0, score.mean or 0), latency.std or 0, score.std or 0
        for a, b in (((x - wide, y), (x + wide, y)), ((x, y - high), (x, y + high))):
            (x0, y0), (x1, y1) = axes.transData.transform([a, b])
            boxes.append(Bbox([[x0 - 5, y0 - 5], [x1 + 5, y1 + 5]]))
    return boxes


def _ticks(low: float, high: float) -> list[float]:
    """Return the ticks between two latencies: 1, 2 and 5 times powers of ten; without any, the two latencies."""
    steps = [m * 10.0**power for power in range(-4, 6) for m in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    return inside or [low, high]


def _axes(axes: Axes, inputs: Inputs, x: list[float]) -> None:
    axes.set(
        xscale="log", xlim=(min(x) / 1.35, max(x) * 1.35), xlabel="latency, ms (log scale)",
        ylabel=f"{inputs.spec.metric.capitalize()} on {inputs.spec.task}, × 100",
    )  # fmt: skip
    axes.xaxis.set_major_locator(FixedLocator(_ticks(min(x) / 1.35, max(x) * 1.35)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(y=0.22)


def _front(axes: Axes, places: list[tuple[float, float]]) -> None:
    best = front(places)
    steps = [*best, (axes.get_xlim()[1], best[-1][1])]
    axes.step([x for x, _ in steps], [y for _, y in steps], where="post", color=MUTED, linewidth=1.2, zorder=2)
    x, y = steps[-1]
    look: dict[str, Any] = {"ha": "right", "va": "bottom", "color": MUTED, "fontsize": 8.5}
    axes.annotate("front", (x, y), (-2, 3), textcoords="offset points", **look)


def draw(inputs: Inputs, lines: list[Line], renders: dict[str, str]) -> None:
    """Draw and save the figure: one point per student, with error bars of one standard deviation in both directions."""
    latency = {line.student: line for line in lines if line.metric == "latency"}
    both = [(line, latency[line.student]) for line in lines if line.metric != "latency"]
    whole = [(s, t) for s, t in both if s.mean is not None and t.mean is not None]
    with figure(5.0, 3.3) as drawn:
        axes: Axes = drawn.subplots()
        places = [(t.mean or 0.0, s.mean or 0.0) for s, t in whole]
        if places:
            x, y = [x for x, _ in places], [y for _, y in places]
            points(
                axes, x, y, xerr=[t.std or 0 for _, t in whole], yerr=[s.std or 0 for s, _ in whole],
                markeredgecolor=PAPER, markersize=8,
            )  # fmt: skip
            _axes(axes, inputs, x)
            _front(axes, places)
            drawn.canvas.draw()
            labels = [(s.row, *place) for (s, _), place in zip(whole, places, strict=True)]
            label_points(axes, labels, _bars(axes, whole))
        not_drawn(drawn, itertools.chain.from_iterable(both))
        save(drawn, renders)


kinds.register("pareto")(Kind(collect, draw))
