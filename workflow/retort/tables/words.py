"""The words of pages, each with a sentence: for the box of words, and for the tooltip of a word where it stands."""

from __future__ import annotations

from markupsafe import Markup

MEANINGS = {
    "reported": "What a paper's tables and text say.",
    "recorded run": "A run of ours that is kept with the study and shown next to yours, or in its place.",
    "smaller models": "Runs of narrow students with few steps; they are never counted as the paper's own models.",
    "scale": "Which students are trained, for how long, and on which data; that of the papers is called 'paper'.",
    "reduced": "The scale that has every kind of student in small: from a small teacher, for few steps.",
    "supported": (
        "The numbers agree with the claim; on runs of ours, at most 2.5 % of resamples reverse it. Each claim is "
        "decided by itself, so of many decided claims some may be wrong."
    ),
    "not supported": "The numbers agree with the opposite of the claim, decided in the same way.",
    "inconclusive": "Neither is shown; other runs, or cells without a number, may decide it.",
    "depends on length": "Supported after some number of steps, and not after another.",
    "not tested": "No run has the numbers of the claim.",
    "tied": "The reported numbers are against the claim by no more than their rounding.",
    "agrees": "The difference of the two means is shown to be below 1 point.",
    "differs": "The difference of the two means is shown not to be zero, counting that a table has many numbers.",
    "reproduced exactly": "The same seeds have the recorded digits, as on the same kind of processor.",
    "reproduced": "The same seeds on another machine have the recorded mean, within 1 point and without a shift.",
    "rehearsal": "Every job in miniature, on made data, before a cluster does it; its numbers are never judged.",
}  # a word of pages -> what it means


def explained(word: str) -> Markup:
    """Return a word with its meaning as a tooltip; a word without one as it is."""
    meaning = MEANINGS.get(word.lower())
    return Markup('<abbr title="{}">{}</abbr>').format(meaning, word) if meaning else Markup.escape(word)
