"""Render a sheet as Markdown, LaTeX or HTML; all text from files is escaped."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import jinja2
from markupsafe import Markup

from retort.formatters import in_words
from retort.tables.layout import Grid, Sheet, label_of
from retort.tables.words import MEANINGS, explained

LINE = 100  # characters of a terminal's line

TEMPLATES = Path(__file__).parent / "templates"

_SIGNS = {  # letters, and their commands in math
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "ϵ": "epsilon", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega",
    "±": "pm", "×": "times", "≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "∞": "infty", "⋆": "star", "★": "star",
    "→": "rightarrow", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow", "⇒": "Rightarrow", "√": "surd", "∈": "in",
    "∼": "sim", "◦": "circ", "∆": "Delta", "∗": "ast", "′": "prime", "ℓ": "ell", "✓": "surd", "✗": "times",
}  # fmt: skip
# pdflatex knows the letters of Latin-1 and marks such as † and §, but fails on these
_TEX = {letter: rf"$\{name}$" for letter, name in _SIGNS.items()}
_TEX |= {digit: f"$_{number}$" for number, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_TEX |= {digit: f"$^{number}$" for number, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_TEX |= {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "−": r"$-$",
    "–": "--", "\u2002": r"\enspace{}", "\n": " ", "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip


def tex_escape(text: str) -> str:
    """Escape a text so that LaTeX prints it literally."""
    return "".join(_TEX.get(letter, letter) for letter in text)


def markdown_escape(text: str) -> str:
    """Escape a text so that Markdown prints it literally, also inside a table; white space becomes single spaces."""
    escaped = re.sub(r"([\\`*_|<>\[\]~$]|&(?=#?\w+;))", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d*)([-+#.)])(?=#* )", r"\1\\\2", escaped)  # it begins no heading and no list


def with_stop(text: str) -> str:
    """Return a text as a sentence: with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def unbroken(text: str) -> str:
    """Replace the spaces around '±' by non-breaking ones, so that mean and deviation stay on one line."""
    return text.replace(" ± ", "\u00a0±\u00a0")


@functools.cache
def environment(folder: Path) -> jinja2.Environment:
    """Return the Jinja environment of a folder of templates; HTML is escaped, an undefined name is an error."""
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters |= {
        "label": label_of,
        "md": markdown_escape,
        "tex": tex_escape,
        "with_stop": with_stop,
        "unbroken": unbroken,
        "in_words": in_words,
        "explained": explained,
    }
    jinja.globals["meanings"] = MEANINGS
    # shared by single tables and the report; the script sorts and copies tables, and is optional
    for name, file in (("style", "style.css"), ("script", "table.js")):
        jinja.globals[name] = Markup((TEMPLATES / file).read_text(encoding="utf-8"))
    return jinja


@functools.cache
def environment_of_latex() -> jinja2.Environment:
    """Return the Jinja environment of LaTeX templates: `<<` and `<%` stand for Jinja's braces, which TeX uses."""
    return environment(TEMPLATES).overlay(
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>"
    )


def compile_templates(folder: Path) -> None:
    """Compile the templates of a folder ahead, for forks of this process; a process compiles each once."""
    for name in environment(folder).list_templates(["html", "md", "tex"]):
        (environment_of_latex() if name.endswith(".tex") else environment(folder)).get_template(name)


def document(template: str, **values: object) -> str:
    """Render a template as a document: in HTML one with one `<article>`, which the report embeds."""
    jinja = environment_of_latex() if template.endswith(".tex") else environment(TEMPLATES)
    return jinja.get_template(template).render(**values)


def rendered(sheet: Sheet, ending: str) -> str:
    """Return a sheet as GitHub Markdown ('md'), as a LaTeX table ('tex') or as an HTML document of its own ('html')."""
    copies = {"LaTeX": rendered(sheet, "tex"), "Markdown": rendered(sheet, "md")} if ending == "html" else {}
    return document(f"table.{ending}", sheet=sheet, title=sheet.title, copies=copies)


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
