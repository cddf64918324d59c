"""The figure of the claims that hours decide, as `retort budget --curves` draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retort.figures.style import SERIES, figure, save

FROM = 1.0  # hours at the left end of the axis


def draw_curves(curves: Mapping[str, Sequence[Sequence[float]]], renders: dict[str, str]) -> None:
    """Draw and save curves, each with its name at its end; hours are on a logarithmic axis, from `FROM` on.

    Args:
        curves: paper -> (hours, claims decided), ascending.
        renders: file format ('svg', 'png') -> path.
    """
    end = 1.3 * max(FROM, *(curve[-1][0] for curve in curves.values()))
    with figure(6.2, 3.4) as drawn:
        axes = drawn.subplots()
        for color, (name, curve) in zip(SERIES, curves.items(), strict=False):
            hours, decided = zip(*((max(taken, FROM), count) for taken, count in curve), strict=True)
            axes.step([*hours, end], [*decided, decided[-1]], where="post", color=color, linewidth=1.8)
            axes.annotate(
                name, (end, decided[-1]), (5, 0), textcoords="offset points", va="center", color=color, fontsize=9
            )
        axes.set(xscale="log", xlim=(FROM, end), ylim=(0, None))
        axes.set(xlabel="GPU hours (log scale), the papers' own settings", ylabel="claims decided")
        axes.xaxis.set_major_formatter("{x:,g}")
        save(drawn, renders)
