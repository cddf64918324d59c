"""Download of the files of one commit from the Hugging Face hub, each checked against the hub's listing of that commit.

`HF_ENDPOINT` and the token stored by `hf auth login` are used. A file is first downloaded to the state folder, under a
name made of its digest: an interrupted download continues with the missing bytes, and only verified files are moved to
the source's folder.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.data.files import git_blob, sha256
from retort.errors import NoAnswer, RetortError
from retort.jobs import UNWRITABLE
from retort.specs.source import Hub, HubFiles

MANIFEST = ".manifest.json"
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")


@dataclass(frozen=True)
class Remote:
    """A file of a commit: its path, its size in bytes and its digest (SHA-256 for LFS files, else git's blob id)."""

    path: str
    size: int
    digest: str

    def is_whole(self, path: Path) -> bool:
        """Return True if the file at `path` has this size and digest."""
        return path.stat().st_size == self.size and self.digest == self.named(path)

    def named(self, path: Path) -> str:
        """Return the digest of the file at `path`, computed as this file's digest is: SHA-256 or git's blob id."""
        return sha256(path) if len(self.digest) == 64 else git_blob(path)


def _library() -> Any:
    """Return huggingface_hub with network access on: jobs.py turns it off in every stage; only downloads need it."""
    import huggingface_hub
    import huggingface_hub.constants
    import huggingface_hub.errors
    import huggingface_hub.utils

    huggingface_hub.constants.HF_HUB_OFFLINE = False
    huggingface_hub.utils.disable_progress_bars()  # type: ignore[attr-defined]
    return huggingface_hub


def _api() -> Any:
    return _library().HfApi(endpoint=os.environ.get("HF_ENDPOINT"))


@contextlib.contextmanager
def _as_retort_error(hub: HubFiles, revision: str) -> Iterator[None]:
    """Turn an error of the hub into a RetortError of one line: repository, commit or branch, and what would help."""
    errors = _library().errors
    try:
        yield
    except errors.GatedRepoError as error:
        raise RetortError(f"{hub.repository} is gated", "ask for access on its page, then `hf auth login`") from error
    except errors.RevisionNotFoundError as error:
        raise RetortError(
            f"{hub.repository} has no commit or branch {revision}", "`retort pin` asks for one"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise RetortError(
            f"the hub has no {hub.repo_type} {hub.repository}", "is it private? `hf auth login`"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NoAnswer(
            f"{hub.repository} at {revision}: no answer from {_api().endpoint}: {reason}",
            "run again where the hub is within reach: what has come is kept; or set data_dir and models_dir",
        ) from error


def commit_of(hub: Hub) -> str:
    """Ask the hub for the current commit of the branch and return it.

    Raises:
        RetortError: the hub has no such repository or branch, or gives no answer.
    """
    with _as_retort_error(hub, hub.branch):
        info = _api().repo_info(hub.repository, repo_type=hub.repo_type, revision=hub.branch)
    return str(info.sha)


def listing(hub: HubFiles) -> list[Remote]:
    """Return the files of the commit that match the patterns, sorted by path.

    Raises:
        RetortError: no commit is given, a pattern matches no file, a file is pickled, or a model has no safetensors.
    """
    if hub.commit is None:
        raise RetortError(f"no commit of {hub.repository} is known", "run `retort pin` once")
    with _as_retort_error(hub, hub.commit):
        # this request is sent once, so that an unreachable hub is reported at once; the library retries the next one
        _api().repo_info(hub.repository, repo_type=hub.repo_type, revision=hub.commit)
        tree = _api().list_repo_tree(hub.repository, recursive=True, revision=hub.commit, repo_type=hub.repo_type)
        files = [Remote(f.path, f.size, f.lfs.sha256 if f.lfs else f.blob_id) for f in tree if hasattr(f, "blob_id")]
    by_path = {file.path: file for file in files if ".." not in file.path.split("/") and not file.path.startswith("/")}
    origin, chosen = f"{hub.repository} at {hub.commit[:12]}", set[str]()
    for pattern in hub.files:
        matched = fnmatch.filter(by_path, pattern)
        if not matched and pattern.endswith(".safetensors"):
            raise RetortError(
                f"{origin} holds no {pattern}, and pickled weights are never read",
                "pin a branch that has it (files of a conversion are at refs/pr/...), or give models_dir",
            )
        if not matched:
            raise RetortError(
                f"{origin} holds no {pattern}", f"it holds {', '.join(sorted(by_path)[:12]) or 'nothing'}"
            )
        chosen.update(matched)
    if pickled := [name for name in sorted(chosen) if name.endswith(PICKLED)]:
        raise RetortError(f"{origin}: {pickled[0]} is pickled and never read", "name the safetensors file in 'files'")
    return [by_path[name] for name in sorted(chosen)]


def _download(hub: HubFiles, file: Remote, state: Path) -> Path:
    """Download and verify a file in `state` and return its path; bytes of an interrupted download are kept."""
    whole = state / f"{file.digest}-{file.path.replace('/', '-')}"
    if whole.is_file():
        return whole
    partial = whole.with_name(f"{whole.name}.part")
    library = _library()
    from huggingface_hub.file_download import http_get

    url = library.hf_hub_url(
        hub.repository, file.path, repo_type=hub.repo_type, revision=hub.commit, endpoint=os.environ.get("HF_ENDPOINT")
    )
    headers = {**library.utils.build_hf_headers(), "Accept-Encoding": "identity"}
    if partial.exists() and partial.stat().st_size > file.size:
        partial.unlink()
    partial.touch()
    with partial.open("r+b") as stream, _as_retort_error(hub, str(hub.commit)):
        here = stream.seek(0, os.SEEK_END)
        http_get(url, stream, resume_size=here, headers=headers, expected_size=file.size)
    if not file.is_whole(partial):
        digest = file.named(partial)
        partial.unlink()
        raise RetortError(
            f"{hub.repository} at {str(hub.commit)[:12]}: {file.path} came as {digest[:12]}..., and the hub's listing "
            f"says {file.digest[:12]}...",
            "the download is damaged; it was thrown away, run again",
        )
    os.replace(partial, whole)
    return whole


def fetch(hub: HubFiles, output: Path, state: Path) -> int:
    """Download the files of the commit to `output`, with a manifest of their checksums; return the number of files.

    Args:
        hub: the repository, its commit and the patterns of its files.
        output: the folder to fill.
        state: the folder that holds files until all are downloaded; deleted at the end.

    Raises:
        RetortError: the hub gives no answer, it has no such commit, or a file differs from the hub's listing.
    """
    files = listing(hub)
    state.mkdir(parents=True, exist_ok=True)
    blobs = [_download(hub, file, state) for file in files]
    sums = {}
    for file, blob in zip(files, blobs, strict=True):
        sums[file.path] = {"bytes": file.size, "sha256": file.digest if len(file.digest) == 64 else sha256(blob)}
        (output / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(blob, output / file.path)
    manifest = {"repository": hub.repository, "commit": hub.commit, "files": sums}
    (output / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    shutil.rmtree(state)
    return len(files)
