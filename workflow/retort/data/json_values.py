"""Read JSON strictly: Python itself accepts duplicate keys and unpaired surrogates."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from retort.data.files import open_text
from retort.errors import RetortError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # JSON escapes a character beyond 16 bits as a pair of them


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of these keys and values.

    Raises:
        RetortError: a key is given twice.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RetortError(f"'{twice}' is given twice", "leave one of the two out")
    return values


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        json.JSONDecodeError: it is no JSON.
        RetortError: it is nested too deep, an object gives a key twice, a number has thousands of digits, or a text
            holds an unpaired surrogate (half a character), which UTF-8 cannot encode.
    """
    try:
        value = json.loads(text, object_pairs_hook=_each_key_once)
    except RecursionError:
        raise RetortError("lists or objects are nested too deep", "is it the right file?") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise RetortError("a number has thousands of digits", "is it the right file?") from None
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise RetortError(f"{half} is half a character", "write both halves, or neither") from None
    return value


def check_json(path: Path, encoding: str) -> None:
    """Check a JSON file, plain or gzip, before a library reads it: one value, or one value on each line.

    The library keeps one of two equal keys, and ends the process if objects are nested too deep. It reports itself a
    file that is no JSON.

    Raises:
        RetortError: the file holds what `read_json` refuses.
    """
    try:
        with open_text(path, encoding) as stream:
            text = stream.read()
    except (OSError, EOFError, zlib.error, UnicodeError, LookupError):
        return
    by_line = [_is_json(f"{path.name}:{number}", line) for number, line in enumerate(text.split("\n"), start=1)]
    if not all(by_line):
        _is_json(path.name, text)


def _is_json(place: str, text: str) -> bool:
    """Return whether a text is JSON.

    Raises:
        RetortError: `read_json` refuses it; the message begins with its place.
    """
    try:
        read_json(text)
    except json.JSONDecodeError:
        return False
    except RetortError as error:
        raise RetortError(f"{place}: {error}") from None
    return True
