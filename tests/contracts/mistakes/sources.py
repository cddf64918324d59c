"""Mistakes in corpora, models and sources."""

from __future__ import annotations

from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import CORPUS, SOURCE

# fmt: off
MISTAKES = [
    Edits(CORPUS, [
        ("format: rated-lines", "format: rated-line", "components.1.format: no text format is called 'rated-line'"),
        ("source: texts", "source: textes", "components.1.source: no source is called 'textes'; did you mean 'texts'?"),
        ("rated-lines}", "rated-lines, options: {field: a}}", "components.1.options.field: no key is called 'field'"),
        ("rated-lines}", "rated-lines, share: 0.5}", "the shares add up to 0.5, not to 1"),
        ("rated-lines}", "rated-lines, sample: 0}", "components.1.sample: Input should be greater than 0, not 0"),
        ("rated-lines", "rated-lines, sample: 2", "components.1.sample: Input should be less than or equal to 1"),
        ("rated-lines}", "rated-lines, language: English}",
         "components.1.language: 'English' does not match the pattern"),
        ("rated-lines}", "rated-lines, cleaning: {minimum: -1}}",
         "components.1.cleaning.minimum: Input should be greater than or equal to 0, not -1"),
        ("rated-lines}", "rated-lines, cleaning: {minimm: 1}}",
         "components.1.cleaning.minimm: no key is called 'minimm'; did you mean 'minimum'?"),
        ("block: 16", "block: 16\npacking: continous", "packing: no packing is called 'continous'"),
        ("block: 16", "block: 16\nsmoothing: 0.3",
         "'smoothing' makes shares of file sizes: it needs 'blocks', and components without a share"),
        ("block: 16", "block: 64", "block: 64 tokens, and model 'encoder' takes 32"),
        ("block: 16", "block: 16\nmasking: {probability: 1.5}", "masking.probability: Input should be less than 1"),
        ("rated-lines}]", "rated-lines, share: 1}, {source: texts, files: [a], format: text}]",
         "1 of 2 components give a share; give all of them or none"),
        ("files: [rated.txt]", "files: [../rated.txt]", "components.1.files.1: '../rated.txt' leaves its folder"),
        ("files: [rated.txt]", "files: rated.txt", "components.1.files: give a list, not 'rated.txt'"),
        ("files: [rated.txt]", "files: [rated.txt, rated.txt]", "components.1.files: 'rated.txt' is listed twice"),
        ("files: [rated.txt]", "files: [/etc/passwd]", "components.1.files.1: '/etc/passwd' leaves its folder"),
        ("files: [rated.txt]", "files: ['~/x']", "components.1.files.1: '~/x' leaves its folder"),
        ("files: [rated.txt]", "files: ['a\\\\b']", "components.1.files.1: 'a\\\\b' leaves its folder"),
        ("rated.txt", "../../secret.txt", "components.1.files.1: '../../secret.txt' leaves its folder"),
    ]),
    Edits("models/encoder.yaml", [
        ("source: encoder", "source: encodr", "source: no source is called 'encodr'; did you mean 'encoder'?"),
        ("heads: 3", "heads: 7", "architecture: hidden (24) is not a multiple of heads (7)"),
    ]),
    Edits(SOURCE, [
        ("path: texts", "path: texts\nhub: {}", "where the files come from is not clear"),
        ("path: texts", "path: texts\npackage: x", "where the files come from is not clear"),
        ("path: texts", "there: texts", "where the files come from is not clear"),
    ]),
]
# fmt: on
