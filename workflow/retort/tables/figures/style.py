"""The style of all figures, and functions that write them: the same numbers give the same bytes.

Only functions that draw import matplotlib, since the kinds of figures are imported whenever a study is read.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from retort.atomic import replacing_file
from retort.results.frames import lines_of
from retort.study.reasons import HAS_VALUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

INK, MUTED, GRID, PAPER = "#1d2329", "#5f6a75", "#dfe3e8", "#fefefe"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#aa6f9e"  # palette: Okabe and Ito
SERIES = (ORANGE, GREEN, PURPLE, BLUE)
# light -> dark: the SVG swaps these colours if the viewer prefers a dark scheme; other colours are legible on both
DARK = {INK: "#e4e8ec", MUTED: "#9aa5b1", GRID: "#323a43", PAPER: "#14181d", BLUE: "#4ba3dc", "#eef1f4": "#242b33"}
STYLE = Path(__file__).with_name("style.mplstyle")
LETTERS = 16  # of a note that fit an inch
FONTS = "system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


@contextlib.contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure in the common style; needs no display.

    Args:
        width: in inches.
        height: in inches.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()  # the settings of a user do not hold
        with mpl.rc_context(fname=STYLE):
            drawn = Figure(figsize=(width, height), layout="constrained")
            FigureCanvasAgg(drawn)
            yield drawn


def _dark_rules() -> str:
    """Return the CSS rules that swap the colours of `DARK`."""
    rules = [
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    ]
    return f"@media screen and (prefers-color-scheme: dark){{{''.join(rules)}}}"


def svg(drawn: Figure) -> str:
    """Return the figure as SVG with selectable text, no date, and colours that follow the light or dark scheme."""
    stream = io.StringIO()
    drawn.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", lambda match: match[1] + FONTS, text)
    return text.replace("</style>", f"{_dark_rules()}</style>", 1)


def save(drawn: Figure, renders: dict[str, str]) -> None:
    """Write the figure to each path, by file format ('svg' or 'png')."""
    for file_format, path in renders.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(Path(path)) as part:
            if file_format == "svg":
                part.write_text(svg(drawn), encoding="utf-8", newline="\n")
            else:
                drawn.savefig(part, format=file_format, dpi=200, facecolor="white", metadata={"Software": None})


def write_notes(drawn: Figure, frame: DataFrame, remark: str = "") -> None:
    """Write below the figure why points are missing, and then the remark, if any."""
    has_value = frame["status"].isin(HAS_VALUE)
    in_part = set(frame[has_value]["row"])  # rows of which other points are drawn
    left_out = [
        f"{line.row}{f' ({line.column})' * (line.row in in_part)}: {line.state}" for line in lines_of(frame[~has_value])
    ]
    notes = [f"not drawn: {'; '.join(left_out)}"] * bool(left_out) + [remark] * bool(remark)
    if notes:
        width = int(drawn.get_figwidth() * LETTERS)
        drawn.supxlabel("\n".join(fill(note, width) for note in notes), fontsize=8, color=MUTED)


def points(axes: Axes, x: Any, y: Any, **overrides: Any) -> None:
    """Draw markers at arrays of places with error bars, blue by default; `overrides` are arguments of `errorbar`."""
    look = {"fmt": "o", "color": BLUE, "markersize": 6, "elinewidth": 1.3, "capsize": 3, "zorder": 3, **overrides}
    axes.errorbar(x, y, **look)


def empty_figure_text(frame: DataFrame) -> str:
    """Return the text of a figure without a value, or without all values of any point: why there is none to draw."""
    reasons = list(dict.fromkeys(line.state for line in lines_of(frame[~frame["status"].isin(HAS_VALUE)])))
    return f"No point to draw: {reasons[0]}{', and more' * (len(reasons) > 1)}"


def save_empty_figure(why: str, renders: dict[str, str]) -> None:
    """Save a figure without a point: a text that says why, in place of empty axes."""
    text = fill(why, 70)
    with figure(5.0, 0.5 + 0.2 * len(text.splitlines())) as drawn:
        drawn.text(0.5, 0.5, text, ha="center", va="center", color=MUTED)
        save(drawn, renders)
