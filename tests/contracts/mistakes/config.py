"""Mistakes in a configuration: its values, and the text of its file."""

from __future__ import annotations

from typing import Any

INF = float("inf")
# the content, how the only line begins after 'config.yaml: '
# fmt: off
VALUES: list[tuple[Any, str]] = [
    ({"scal": "pocket"}, "scal: no key is called 'scal'; did you mean 'scale'?"),
    ({"precision": "float8"}, "precision: Input should be 'auto', 'float32', 'tf32' or 'bfloat16', not 'float8'"),
    ({"papers": ["tiny", "tiny"]}, "papers: 'tiny' is listed twice"),
    ({"papers": "tiny"}, "papers: give a list, not 'tiny'"),
    ({"papers": ["../tiny"]}, "papers.1: '../tiny' does not match the pattern"),
    ({"paper": ["tiny"]}, "paper: no key is called 'paper'; did you mean 'papers'?"),
    ({"checkpoint_seconds": 0}, "checkpoint_seconds: Input should be greater than 0, not 0"),
    ({"checkpoint_seconds": INF}, "checkpoint_seconds: Input should be a finite number, not inf"),
    ({"checkpoint_seconds": 1e9}, "checkpoint_seconds: Input should be less than or equal to 1000000"),
    ({"sample": "yes"}, "sample: give true or false or a list, not 'yes'"),
    ({"sample": 1}, "sample: give true or false or a list, not 1"),
    ({"sample": ["a b"]}, "sample.1: 'a b' does not match the pattern"),
    ({"cluster": "/nowhere.yaml"}, "cluster: there is no file '/nowhere.yaml'; null limits nothing"),
    ({"cluster": "/"}, "cluster: there is no file '/'; null limits nothing"),
    ({"cluster": ""}, "cluster: there is no file ''; null limits nothing"),
    ({"contact": "javascript:alert(1)"}, "contact: 'javascript:alert(1)' does not match the pattern"),
    ({"contact": "https://a.b/\x1b"}, "contact: a line break or a control character stands in it"),
    ({"device": "gpu"}, "device: Input should be 'auto' or 'cpu', not 'gpu'"),
    ({"scale": "paper", "device": "cpu", "precision": "tf32"},
     "precision: tf32 is for GPUs, and device is 'cpu'; write float32"),
    ({"precision": "tf32"}, "precision: tf32 is for GPUs, and scale 'pocket' trains on CPUs; write float32"),
    ({"study": ""}, "study: String should have at least 1 character"),
    ({"data_dir": "/nowhere"}, "data_dir: there is no folder /nowhere; null takes data and models from the hub"),
    ({"data_dir": ""}, "data_dir: there is no folder ''; null takes data and models from the hub"),
    ({"models_dir": " "}, "models_dir: there is no folder ' '; null takes data and models from the hub"),
    ({"dataloader_num_workers": 1_000_000},
     "dataloader_num_workers: Input should be less than or equal to 64, not 1000000"),
    ({"dataloader_num_workers": -1}, "dataloader_num_workers: Input should be greater than or equal to 0, not -1"),
    ([1], "give a mapping, not a list"),
    ("pocket", "give a mapping, not 'pocket'"),
]

# the text of a file 'mine.yaml', how the line begins after the name of the file
TEXTS = [
    ("papers: [", "line 2: not valid YAML"),
    ("scale: pocket\nscale: paper\n", "line 2: 'scale' is given twice"),
    ("scale: {{ scale }}\n", "line 1: a list or a mapping stands as a key; put a text that begins with { or [ in"),
    ("checkpoint_seconds: 010\n", "line 1: YAML reads 010 as another number"),
    ("checkpoint_seconds: 1:30\n", "line 1: YAML reads 1:30 as another number"),
    ("checkpoint_seconds: .inf\n", "line 1: .inf is no number in decimal digits"),
    ("scale: hug\n", "scale: no scale is called 'hug'; there are: paper, pocket, "),
    ("- scale: pocket\n", "give a mapping, not a list"),
    ("study: /nowhere\n", "study: there is no folder /nowhere"),
    ("study: tests/tiny\n", "study: tests/tiny has no folder 'papers'; name the folder of a study"),
]
# fmt: on
