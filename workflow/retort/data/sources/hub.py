"""Files of one commit of the Hugging Face hub, downloaded by `huggingface_hub` and checked against the hub's listing.

`HF_ENDPOINT` and the token stored by `hf auth login` are used. The library writes only to the state folder of the job,
and only checked files are moved to the source's folder. Complete files are kept, and a file whose connection was cut is
resumed; a file that was incomplete when the job was killed is downloaded anew.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort.data.splits import CARD
from retort.errors import UNWRITABLE, NoAnswer, RetortError
from retort.specs.source import FirstRows, Hub, HubFiles

UNSAFE = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".py")  # ends of names of pickled files, and of code
NEVER = "pickled files are never read, and scripts never run"
# an address, in two groups: scheme, and host and path; the user and password before them and the query after them
ADDRESS = re.compile(r"(\w+://)(?:[^/\s]*@)?([^\s?#'\"<>\[\]]*)[^\s'\"<>\[\]]*")


def redact_addresses(text: str) -> str:
    """Return a text with each address in it without user, password and query."""
    return ADDRESS.sub(r"\1\2", text)


def library() -> Any:
    """Return huggingface_hub with network access on; a job turns it off (job/context.py), as only downloads need it."""
    import huggingface_hub
    import huggingface_hub.constants
    import huggingface_hub.errors
    import huggingface_hub.utils

    huggingface_hub.constants.HF_HUB_OFFLINE = False
    huggingface_hub.constants.HF_HUB_DISABLE_XET = True  # it keeps a cache and logs in the user's home
    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # it asks for a list of agents and keeps it there too
    huggingface_hub.utils.disable_progress_bars()  # type: ignore[attr-defined]
    return huggingface_hub


def _api() -> Any:
    return library().HfApi(endpoint=os.environ.get("HF_ENDPOINT"))


@contextlib.contextmanager
def as_retort_error(hub: HubFiles, revision: str) -> Iterator[None]:
    """Turn an error of the hub into a RetortError of one line: repository, commit or branch, and what would help."""
    errors = library().errors
    known = {  # a gated repository is also one that is not found
        errors.GatedRepoError: (f"{hub.repository} is gated", "ask for access on its page, then `hf auth login`"),
        errors.RevisionNotFoundError: (f"{hub.repository} has no commit or branch {revision}", "see its page"),
        errors.RepositoryNotFoundError: (
            f"the hub has no {hub.repo_type} {hub.repository}",
            "is it private? `hf auth login`",
        ),
    }
    try:
        yield
    except RetortError:
        raise
    except tuple(known) as error:
        raise RetortError(*next(lines for kind, lines in known.items() if isinstance(error, kind))) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNWRITABLE:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        address, reason = map(redact_addresses, (_api().endpoint, reason))
        raise NoAnswer(
            f"{hub.repository} at {revision}: no answer from {address}: {reason}",
            "run again where the hub is within reach: what has come is kept; or set data_dir and models_dir",
        ) from error


def commit_of(hub: Hub) -> str:
    """Ask the hub for the current commit of the branch and return it.

    Raises:
        RetortError: the hub has no such repository or branch, or gives no answer.
    """
    with as_retort_error(hub, hub.branch):
        info = _api().repo_info(hub.repository, repo_type=hub.repo_type, revision=hub.branch)
    return str(info.sha)


def listing(hub: HubFiles) -> list[str]:
    """Return the paths of the files of the commit that match the patterns, sorted.

    The card of a data set is one of them, as it says which files make a split.

    Raises:
        RetortError: no commit is given, a pattern matches no file, a file is pickled or code, or a model has no
            safetensors.
    """
    if hub.commit is None:
        raise RetortError(f"no commit of {hub.repository} is known", "run `retort pin` once")
    with as_retort_error(hub, hub.commit):
        # this request is sent once, so that an unreachable hub is reported at once; the library retries the next one
        _api().repo_info(hub.repository, repo_type=hub.repo_type, revision=hub.commit)
        tree = _api().list_repo_tree(hub.repository, recursive=True, revision=hub.commit, repo_type=hub.repo_type)
        paths = sorted(file.path for file in tree if hasattr(file, "blob_id"))
    chosen = {CARD} & set(paths) if hub.repo_type == "dataset" else set()
    for pattern in hub.files:
        matched = fnmatch.filter(paths, pattern)
        if not matched:
            what = f"{hub.repository} at {hub.commit[:12]} holds no {pattern}, but {', '.join(paths[:12]) or 'nothing'}"
            raise RetortError(what, f"{NEVER}: pin a branch of a conversion, such as refs/pr/1 or refs/convert/parquet")
        chosen.update(matched)
    for path in sorted(chosen):
        if path.endswith(UNSAFE) or path.startswith("/") or ".." in path.split("/"):
            what = f"{hub.repository} at {hub.commit[:12]}: {path} is not fetched"
            raise RetortError(what, f"{NEVER}: name the files of data, or the safetensors file, in 'files'")
    return sorted(chosen)


def _download(hub: HubFiles, paths: list[str], state: Path) -> None:
    """Download files to the folder `state` and compare each with the hub's listing; delete damaged ones."""
    where: dict[str, object] = {"repo_type": hub.repo_type, "revision": hub.commit, "local_dir": state}
    for part in state.rglob("*.incomplete"):
        part.unlink()  # of a job that was killed: the library never resumes it
    with as_retort_error(hub, str(hub.commit)):
        library().snapshot_download(
            hub.repository,
            **where,
            allow_patterns=list(map(glob.escape, paths)),
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
        damaged = _api().verify_repo_checksums(hub.repository, **where).mismatches
    for file in damaged:
        (state / file["path"]).unlink()
    if damaged:
        path, actual, expected = (damaged[0][key] for key in ("path", "actual", "expected"))
        raise RetortError(
            f"{hub.repository} at {str(hub.commit)[:12]}: {path} came as {actual[:12]}..., and the hub's listing says "
            f"{expected[:12]}...",
            "the download is damaged; it was thrown away, run again",
        )


def fetch(hub: HubFiles, output: Path, state: Path) -> int:
    """Download the files of the commit to `output` and return how many there are.

    Args:
        hub: the repository, its commit and the patterns of its files.
        output: the folder to fill.
        state: the folder that holds files until all are downloaded; deleted at the end.

    Raises:
        RetortError: the hub gives no answer, it has no such commit, or a file differs from the hub's listing.
    """
    paths = listing(hub)
    _download(hub, paths, state)
    for path in paths:
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(state / path, output / path)
    shutil.rmtree(state)
    return len(paths)


def fetch_first(hub: HubFiles, first: FirstRows, output: Path) -> int:
    """Write the first rows to files with the same names as on the hub and return the number of files.

    A corpus with a limit needs a part of Wikipedia, not all of it. Only the parts of Parquet files that hold the text
    column of these rows are downloaded. They are not checked, as the hub has checksums of whole files only. A job that
    was killed begins again.

    Args:
        hub: the repository and its commit.
        first: the files, the column of their texts, and after how many characters reading stops.
        output: the folder to fill.

    Raises:
        RetortError: the hub gives no answer, or a file is not there or has no such column.
    """
    import pyarrow
    from pyarrow import parquet

    paths = [path for path in listing(hub.model_copy(update={"files": first.files})) if path.endswith(".parquet")]
    schema = pyarrow.schema([(first.column, pyarrow.string())])
    characters = files = 0
    for path in paths:
        if characters >= first.characters:
            break
        files += 1
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(output / path, schema) as writer:
            for texts in _row_groups(hub, path, first.column):
                writer.write_table(pyarrow.table([texts], schema))
                characters += sum(map(len, texts))
                if characters >= first.characters:
                    break
    return files


def _row_groups(hub: HubFiles, path: str, column: str) -> Iterator[list[str]]:
    """Yield the texts of each row group of a Parquet file of the commit; a group is read when it is needed.

    Raises:
        RetortError: the hub gives no answer, or the file has no such column.
    """
    from pyarrow import parquet

    with as_retort_error(hub, str(hub.commit)):
        files = library().HfFileSystem(endpoint=os.environ.get("HF_ENDPOINT"))
        with files.open(f"datasets/{hub.repository}@{hub.commit}/{path}") as stream:
            groups = parquet.ParquetFile(stream)
            if column not in groups.schema_arrow.names:
                raise RetortError(
                    f"{hub.repository}: {path} has no column '{column}'", "name it in the corpus's options"
                )
            for number in range(groups.num_row_groups):
                yield [text or "" for text in groups.read_row_group(number, [column])[column].to_pylist()]
