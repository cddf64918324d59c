"""Pack a run as an RO-Crate: pages, tables, scores and the workflow, with a description that archives can read.

An unpacked crate can be run with Snakemake. The description follows three profiles: Process Run Crate 0.5, Workflow Run
Crate 0.5 and Workflow RO-Crate 1.0.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from retort import checksums, provenance
from retort.engine.job import Job
from retort.results.environments import Origin, collect_runs, origin
from retort.specs.config import ROOT, read_config
from retort.study.load import FOLDERS, open_study
from retort.study.reading import of_folder, required
from retort.study.study import Study

METADATA = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
LICENCE = "https://spdx.org/licenses/Apache-2.0"
HOMES = {  # home pages of the software that numbers depend on
    "python": "https://www.python.org/",
    "torch": "https://pytorch.org/",
    "transformers": "https://huggingface.co/docs/transformers",
    "tokenizers": "https://huggingface.co/docs/tokenizers",
    "numpy": "https://numpy.org/",
    "scikit-learn": "https://scikit-learn.org/",
    "scipy": "https://scipy.org/",
    "snakemake": "https://snakemake.github.io/",
}
MAIN = "workflow/Snakefile"
README = "README.md"
CONFIG = "config.yaml"
# what is packed: of the workflow, of a study's folder (without scales, if it uses those of the workflow), and of a run
WORKFLOW = ("LICENSE", "requirements.lock", "workflow/**/*", "envs/*")
STUDY = ("facts.yaml", *(f"{name}/**/*" for name in ("papers", *FOLDERS)))
SCALES = "scales/*"
RESULTS = (
    "reports/*.html", "reports/*.md", "reports/*/**/*",
    "results/scores/**/*.json", "results/profiles/*.json", "results/tables/**/*",
)  # fmt: skip
PRIVATE = {"data_dir", "models_dir", "cluster"}  # not packed: names of folders may identify the user
OF_A_RUN = {"run_sources", "companions"}  # not packed: each run decides them anew
OWN_FOLDERS = ("local", "folder")  # locations of sources
Entity = dict[str, Any]


def make_crate(job: Job, config: dict[str, Any], to: str, folder: str) -> None:
    """Write the crate of a run as a zip file; the same results give the same bytes.

    Args:
        job: the running job.
        config: the configuration; its study is the copy of the YAML files with which the run was planned.
        to: the path of the zip file.
        folder: the folder of the study from which these YAML files were copied.
    """
    study = open_study(read_config(config))
    place = "workflow" if Path(folder).resolve() == ROOT / "workflow" else "study"  # where the crate has the study
    packed = _workflow_files(study, Path(folder), place) | dict(_files(Path(), RESULTS))
    texts = {name: path.read_bytes() for name, path in sorted(packed.items())}
    shown = {key: value for key, value in config.items() if key not in PRIVATE | OF_A_RUN}
    texts[CONFIG] = yaml.safe_dump(shown | {"study": place}, sort_keys=False, allow_unicode=True).encode()
    made = origin(collect_runs(study))
    texts[README] = _readme(study, made).encode()
    texts[METADATA] = json.dumps(description(study, made, texts), indent=1).encode()
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in texts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    job.say(f"{to}: {len(texts)} files, {Path(to).stat().st_size // 1024} KB")


def _workflow_files(study: Study, folder: Path, place: str) -> dict[str, Path]:
    """Return name in the crate -> path of each file of the workflow, with the study of the run.

    YAML files of the study are those with which the run was planned; other files come from the study's folder.
    """
    ours = {f"workflow/{name}" for name, _ in _files(ROOT / "workflow", STUDY)}
    code = {name: path for name, path in _files(ROOT, WORKFLOW) if name not in ours}
    others = {name: path for name, path in _files(folder, STUDY) if path.suffix != ".yaml"}
    planned = dict(_files(study.folder, (*STUDY, SCALES)))
    return code | {f"{place}/{name}": path for name, path in (others | planned).items()}


def _files(root: Path, patterns: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield (name in the crate, path) of the files that match some patterns.

    Compiled and hidden files are left out, except checksums: a job reads a result only with its checksum.
    """
    for pattern in patterns:
        for path in root.glob(pattern):
            parts = path.relative_to(root).parts
            hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
            if path.is_file() and (not hidden or checksums.is_place(path)):
                yield "/".join(parts), path


def _readme(study: Study, made: Origin) -> str:
    """Return the README of the crate: what it is, and how to run it."""
    return f"""# {_title(study)}

{_summary(study, made)}

Open `reports/index.html`. `{METADATA}` describes every file. To run the workflow here: install what `requirements.lock`
lists, put the data where `{CONFIG}` and the study's `sources` look for them, then run `snakemake --cores all`.
"""


def _title(study: Study) -> str:
    return f"Tables on distilling BERT-like encoders: {', '.join(paper.title for paper in study.papers.values())}"


def _summary(study: Study, made: Origin) -> str:
    said = f"A run of retort at scale {study.config.scale}: tables, figures, claims and the scores behind."
    return said + f" {made.warning}" * bool(made.warning)


def description(study: Study, made: Origin, contents: dict[str, bytes]) -> Entity:
    """Return the content of `ro-crate-metadata.json`.

    Args:
        study: the study.
        made: where its results come from.
        contents: the files of the crate by name.
    """
    files = [_file(name, content) for name, content in contents.items() if name != MAIN]
    sources = [_source(study, name) for name in sorted(of_folder("sources", required(study)))]
    software = _software(made)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": _title(study),
        "description": _summary(study, made),
        "datePublished": made.newest or "1970-01-01",
        "license": {"@id": LICENCE},
        "conformsTo": [{"@id": profile} for profile in PROFILES],
        "mainEntity": {"@id": MAIN},
        "mentions": {"@id": "#run"},
        "hasPart": [{"@id": _uri(name)} for name in contents if name != METADATA],
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": list(PROFILES)[-1]}],
    }
    profiles = [
        {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
        for profile, (name, version) in PROFILES.items()
    ]
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": "Apache License 2.0"}
    graph: list[Entity] = [descriptor, root, *profiles, licence, *_workflow(contents[MAIN], software), *files, *sources]
    graph += [_run(made, files, sources), *software]
    return {"@context": CONTEXT, "@graph": [_without_lists_of_one(entity) for entity in graph]}


def _without_lists_of_one(entity: Entity) -> Entity:
    """Replace each list of one value by the value, as RO-Crate asks."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}


def _uri(name: str) -> str:
    """Return a file name as a relative URI; letters of any language stay unquoted, as RO-Crate asks."""
    return re.sub(r"[^\w./~-]", lambda found: quote(found[0]), name)


def _file(name: str, content: bytes) -> Entity:
    file = {
        "@id": _uri(name),
        "@type": "File",
        "name": name.rpartition("/")[2],
        "contentSize": str(len(content)),
        "encodingFormat": mimetypes.guess_type(name)[0] or "text/plain",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return file | ({"about": {"@id": "./"}} if name == README else {})


def _workflow(content: bytes, software: list[Entity]) -> list[Entity]:
    """Return the entities of the workflow, with its software, and of the language Snakemake."""
    return [
        {
            **_file(MAIN, content),
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "retort",
            "version": provenance.commit(),
            "programmingLanguage": {"@id": SNAKEMAKE},
            "license": {"@id": LICENCE},
            "softwareRequirements": [{"@id": one["@id"]} for one in software],
        },
        {
            "@id": SNAKEMAKE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": {"@id": "https://doi.org/10.12688/f1000research.29032.2"},
            "url": {"@id": "https://snakemake.readthedocs.io"},
        },
    ]


def _source(study: Study, name: str) -> Entity:
    """Return the entity of a source of data or of a model; the crate does not hold its files."""
    source = study.sources[name]
    return {
        "@id": f"#source-{name}",
        "@type": "CreativeWork",
        "name": source.title,
        "license": source.licence,
        "description": _origin_of(study, name),
    }


def _origin_of(study: Study, name: str) -> str:
    """Return where the files of a source come from; for a folder of the user, its digest in place of its path."""
    source = study.sources[name]
    if source.location(study.config) not in OWN_FOLDERS:
        return source.place(study.config)
    taken = checksums.read(checksums.RESULTS / "sources" / name)
    return f"a folder of the user{f', sha256 of its content {taken.digest}' if taken else ''}"


def _software(made: Origin) -> list[Entity]:
    """Return the entities of the software behind the results; the profile asks for absolute URIs as ids."""
    return [
        {
            "@id": f"{HOMES[name]}#{quote(version)}",
            "@type": "SoftwareApplication",
            "name": name,
            "version": version,
            "url": HOMES[name],
        }
        for name, _, version in (text.partition(" ") for text in made.versions)
    ]


def _run(made: Origin, files: list[Entity], sources: list[Entity]) -> Entity:
    """Return the entity of the run that made the results; without results, its status is 'potential'."""
    results = [file["@id"] for file in files if file["@id"].startswith(("reports/", "results/"))]
    action: Entity = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": "The run of the workflow",
        "instrument": {"@id": MAIN},
        "object": [{"@id": CONFIG}, *({"@id": source["@id"]} for source in sources)],
        "result": [{"@id": name} for name in results],
        "description": f"Devices: {'; '.join(made.devices) or 'none'}. Commits: {', '.join(made.commits) or 'none'}.",
        "actionStatus": f"http://schema.org/{'CompletedActionStatus' if made.files else 'PotentialActionStatus'}",
    }
    times = {"startTime": made.first, "endTime": made.newest} if made.files else {}
    return action | times
