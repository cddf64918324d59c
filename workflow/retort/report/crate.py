"""Pack a run as an RO-Crate: pages, tables, scores and the workflow, with a description that archives read.

Snakemake runs where a crate is unpacked. The description follows three profiles: Process Run Crate and Workflow Run
Crate, 0.5, and Workflow RO-Crate, 1.0.
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
from retort.jobs import Job
from retort.specs.config import ROOT, read_config
from retort.study.load import FOLDERS, open_study
from retort.study.required_sources import of_folder, required
from retort.study.study import Study
from retort.tables.origin import Origin, collect_runs, origin

METADATA = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
LICENCE = "https://spdx.org/licenses/Apache-2.0"
CONFIG = "config.yaml"
# what is packed of the workflow, of a study's folder (one without scales uses those of the workflow), and of a run
WORKFLOW = ("Snakefile", "LICENSE", "requirements.lock", "workflow/**/*", "envs/*")
STUDY = ("facts.yaml", *(f"{name}/**/*" for name in ("papers", *FOLDERS)))
SCALES = "scales/*"
RESULTS = (
    "reports/*.html", "reports/*.md", "reports/*/**/*",
    "results/scores/**/*.json", "results/profiles/*.json", "results/tables/**/*",
)  # fmt: skip
PRIVATE = {"data_dir", "models_dir", "cluster"}  # names of folders tell who made it
OF_A_RUN = {"run_sources", "companions"}  # what a run decides for itself
OWN_FOLDERS = ("local", "folder")  # locations of sources
Entity = dict[str, Any]


def make_crate(job: Job, config: dict[str, Any], to: str, folder: str) -> None:
    """Write the crate of a run to `to`, a zip file; the same results give the same bytes.

    Args:
        job: the running job.
        config: the configuration, with the YAML files that the run was planned with as its study.
        to: the path of the zip file.
        folder: the folder of the study, of which the run copied the YAML files.
    """
    study = open_study(read_config(config))
    place = "workflow" if Path(folder).resolve() == ROOT / "workflow" else "study"  # where the crate has the study
    packed = _workflow_files(study, Path(folder), place) | dict(_files(Path(), RESULTS))
    texts = {name: path.read_bytes() for name, path in sorted(packed.items())}
    shown = {key: value for key, value in config.items() if key not in PRIVATE | OF_A_RUN}
    texts[CONFIG] = yaml.safe_dump(shown | {"study": place}, sort_keys=False, allow_unicode=True).encode()
    texts[METADATA] = json.dumps(description(study, texts), indent=1).encode()
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in texts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    job.say(f"{to}: {len(texts)} files, {Path(to).stat().st_size // 1024} KB")


def _workflow_files(study: Study, folder: Path, place: str) -> dict[str, Path]:
    """Return the files of the workflow by their names in the crate, with the study of the run in place of ours.

    The YAML files are those that the run was planned with; what lies beside them is taken from the study's folder.
    """
    ours = {f"workflow/{name}" for name, _ in _files(ROOT / "workflow", STUDY)}
    code = {name: path for name, path in _files(ROOT, WORKFLOW) if name not in ours}
    beside = {name: path for name, path in _files(folder, STUDY) if path.suffix != ".yaml"}
    planned = dict(_files(study.folder, (*STUDY, SCALES)))
    return code | {f"{place}/{name}": path for name, path in (beside | planned).items()}


def _files(root: Path, patterns: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files that match some patterns, by their names in the crate.

    Compiled and hidden ones are left out, but for checksums: without its own, a job does not read a result.
    """
    for pattern in patterns:
        for path in root.glob(pattern):
            parts = path.relative_to(root).parts
            hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
            if path.is_file() and (not hidden or checksums.is_place(path)):
                yield "/".join(parts), path


def description(study: Study, contents: dict[str, bytes]) -> Entity:
    """Return the content of `ro-crate-metadata.json`.

    Args:
        study: the study.
        contents: the files of the crate by name.
    """
    made = origin(collect_runs(study))
    files = [_file(name, content) for name, content in contents.items() if name != "Snakefile"]
    sources = [_source(study, name) for name in sorted(of_folder("sources", required(study)))]
    papers = ", ".join(paper.title for paper in study.papers.values())
    software = _software(made)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Tables on distilling BERT-like encoders: {papers}",
        "description": f"A run of retort at scale {study.config.scale}: tables, figures, claims and the scores behind."
        + f" {made.warning}" * bool(made.warning),
        "datePublished": made.newest or "1970-01-01",
        "license": {"@id": LICENCE},
        "conformsTo": [{"@id": profile} for profile in PROFILES],
        "mainEntity": {"@id": "Snakefile"},
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
    graph = [descriptor, root, *profiles, licence, *_workflow(software), *files, *sources]
    graph += [_run(made, files, sources), *software]
    return {"@context": CONTEXT, "@graph": graph}


def _uri(name: str) -> str:
    """Return the name of a file as a relative URI: letters of any language stay, as RO-Crate asks."""
    return re.sub(r"[^\w./~-]", lambda found: quote(found[0]), name)


def _file(name: str, content: bytes) -> Entity:
    return {
        "@id": _uri(name),
        "@type": "File",
        "name": name.rpartition("/")[2],
        "contentSize": str(len(content)),
        "encodingFormat": mimetypes.guess_type(name)[0] or "text/plain",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _workflow(software: list[Entity]) -> list[Entity]:
    """Return the workflow with the software that it ran on, and its language."""
    return [
        {
            "@id": "Snakefile",
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
    """Return a source of data or of a model: it was read, and is not in the crate."""
    source = study.sources[name]
    return {
        "@id": f"#source-{name}",
        "@type": "CreativeWork",
        "name": source.title,
        "license": source.licence,
        "description": _origin_of(study, name),
    }


def _origin_of(study: Study, name: str) -> str:
    """Return where the files of a source come from; a folder of the user is known by its content, not by its path."""
    source = study.sources[name]
    if source.location(study.config) not in OWN_FOLDERS:
        return source.place(study.config)
    taken = checksums.read(checksums.RESULTS / "sources" / name)
    return f"a folder of the user{f', sha256 of its content {taken.digest}' if taken else ''}"


def _software(made: Origin) -> list[Entity]:
    return [
        {"@id": f"#software-{number}", "@type": "SoftwareApplication", "name": name, "version": version}
        for number, (name, _, version) in enumerate(text.partition(" ") for text in made.versions)
    ]


def _run(made: Origin, files: list[Entity], sources: list[Entity]) -> Entity:
    """Return the action that made the results; without a result, the action is not finished."""
    results = [file["@id"] for file in files if file["@id"].startswith(("reports/", "results/"))]
    action: Entity = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": "The run of the workflow",
        "instrument": {"@id": "Snakefile"},
        "object": [{"@id": CONFIG}, *({"@id": source["@id"]} for source in sources)],
        "result": [{"@id": name} for name in results],
        "description": f"Devices: {'; '.join(made.devices) or 'none'}. Commits: {', '.join(made.commits) or 'none'}.",
        "actionStatus": f"http://schema.org/{'CompletedActionStatus' if made.files else 'PotentialActionStatus'}",
    }
    times = {"startTime": made.first, "endTime": made.newest} if made.files else {}
    return action | times
