"""Render a sheet as Markdown, LaTeX or HTML; all text from files is escaped."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import jinja2
from markupsafe import Markup

from retort.formatters import in_words
from retort.registry import Registry
from retort.tables.layout import Entry, Grid, PrintedRow, Sheet, label_of

LINE = 120  # characters of a terminal's line

TEMPLATES = Path(__file__).parent / "templates"
Render = Callable[[Sheet], str]
formats: Registry[Render] = Registry("rendering")

_SIGNS = {  # letters, and their commands in math
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "ϵ": "epsilon", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega",
    "±": "pm", "×": "times", "≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "∞": "infty", "⋆": "star", "★": "star",
    "→": "rightarrow", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "⇒": "Rightarrow", "√": "surd", "∈": "in",
    "∼": "sim", "◦": "circ", "∆": "Delta",
}  # fmt: skip
# pdflatex knows the letters of Latin-1 and marks such as † and §, but fails on these
_TEX = {letter: rf"$\{name}$" for letter, name in _SIGNS.items()}
_TEX |= {digit: f"$_{number}$" for number, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_TEX |= {digit: f"$^{number}$" for number, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_TEX |= {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "−": r"$-$",
    "–": "--", "\u2002": r"\enspace{}", "[": "{[}", "]": "{]}",
}  # fmt: skip


def tex_escape(text: str) -> str:
    """Escape a text so that LaTeX prints it literally."""
    return "".join(_TEX.get(letter, letter) for letter in text)


def markdown_escape(text: str) -> str:
    """Escape a text so that Markdown prints it literally, also inside a table; white space becomes single spaces."""
    return re.sub(r"([\\`*_|<>\[\]~$]|&(?=#?\w+;))", r"\\\1", " ".join(text.split()))


def unbroken(text: str) -> str:
    """Replace the spaces around '±' by non-breaking ones, so that mean and deviation stay on one line."""
    return text.replace(" ± ", "\u00a0±\u00a0")


@functools.cache
def environment(folder: Path = TEMPLATES) -> jinja2.Environment:
    """Return the Jinja environment of a folder of templates; HTML is escaped, an undefined name is an error."""
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters |= {"label": label_of, "md": markdown_escape, "unbroken": unbroken, "in_words": in_words}
    jinja.globals["style"], jinja.globals["script"] = style(), script()
    return jinja


def style() -> Markup:
    """Return the style sheet shared by single tables and the report."""
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))


def script() -> Markup:
    """Return the script shared by single tables and the report: it sorts and copies tables, and is optional."""
    return Markup((TEMPLATES / "table.js").read_text(encoding="utf-8"))


def document(template: str, **values: object) -> str:
    """Render a template as a document: in HTML one with one `<article>`, which the report embeds."""
    return environment().get_template(template).render(**values)


@formats.register("html")
def html(sheet: Sheet) -> str:
    """Return the sheet as an HTML document of its own."""
    copies = {"LaTeX": tex(sheet), "Markdown": markdown(sheet)}
    return document("table.html", sheet=sheet, title=sheet.title, copies=copies)


@formats.register("md")
def markdown(sheet: Sheet) -> str:
    """Return the sheet as GitHub Markdown."""
    return document("table.md", sheet=sheet)


def aligned(grid: Grid) -> list[str]:
    """Return the lines of a grid for a terminal: the texts of its entries, in as many blocks of columns as it is wide.

    A block is a Markdown table of at most `LINE` characters, unless one column and the labels are wider.
    """
    table = [["", *grid.head], *([row.label, *(entry.text for entry in row.entries)] for row in grid.rows)]
    columns = [[" ".join(cell.split()).replace("|", "\\|") for cell in column] for column in zip(*table, strict=True)]
    widths = [max(3, *map(len, column)) for column in columns]
    blocks: list[list[int]] = []
    for number in range(1, len(columns)):
        if not blocks or sum(widths[at] + 3 for at in [0, *blocks[-1], number]) >= LINE:
            blocks.append([])
        blocks[-1].append(number)
    lines = [grid.title, ""] if grid.title else []
    for block in blocks:
        rows = [
            [columns[0][row].ljust(widths[0]), *(columns[at][row].rjust(widths[at]) for at in block)]
            for row in range(len(table))
        ]
        rows.insert(1, ["-" * widths[0], *("-" * (widths[at] - 1) + ":" for at in block)])
        lines += [*(f"| {' | '.join(cells)} |" for cells in rows), ""]
    return lines


# --- LaTeX


def _tex_entry(entry: Entry) -> str:
    text = tex_escape(entry.text)
    text = rf"\textbf{{{text}}}" if entry.bold else text
    text += rf"\textsuperscript{{{entry.mark}}}" if entry.mark else ""
    return text + (rf" {{\scriptsize {tex_escape(entry.beside)}}}" if entry.beside else "")


def _tex_published(entry: Entry) -> str:
    if not entry.published:
        return ""
    beside = " ".join(filter(None, map(tex_escape, (entry.published, entry.difference, entry.judgement))))
    return rf"{{\scriptsize\color{{gray}} {beside}}}"


def _tex_row(row: PrintedRow) -> list[str]:
    lines = [r"\midrule"] if row.opens else []
    lines.append(" & ".join([tex_escape(row.label), *map(_tex_entry, row.entries)]) + r" \\")
    if any(entry.published for entry in row.entries):
        lines.append(" & ".join([r"{\scriptsize\color{gray} published}", *map(_tex_published, row.entries)]) + r" \\")
    return lines


def _tex_grid(grid: Grid) -> list[str]:
    head = " & ".join(["", *map(tex_escape, grid.head)]) + r" \\"
    return [
        *([rf"\textbf{{{tex_escape(grid.title)}}}\par"] if grid.title else []),
        rf"\begin{{tabular}}{{l{'r' * len(grid.head)}}}",
        r"\toprule", head, r"\midrule",
        *(line for row in grid.rows for line in _tex_row(row)),
        r"\bottomrule", r"\end{tabular}\par\medskip",
    ]  # fmt: skip


@formats.register("tex")
def tex(sheet: Sheet) -> str:
    """Return the sheet as a LaTeX table."""
    caption = " ".join(
        filter(None, [f"{sheet.title}.", sheet.question, sheet.state, sheet.caption, f"Scale: {sheet.scale}."])
    )
    notes = [rf"\textsuperscript{{{mark}}} {tex_escape(text)}." for mark, text in sheet.notes]
    below = " ".join([*notes, *map(tex_escape, sheet.remarks)])
    lines = [
        "% needs booktabs and xcolor",
        r"\begin{table}", r"\centering",
        rf"\caption{{{tex_escape(caption)}}}",
        rf"\label{{tab:{sheet.paper}-{sheet.name}}}",
        *(line for grid in sheet.grids for line in _tex_grid(grid)),
        *([rf"\parbox{{\linewidth}}{{\footnotesize {below}}}"] if below else []),
        r"\end{table}", "",
    ]  # fmt: skip
    return "\n".join(lines)
