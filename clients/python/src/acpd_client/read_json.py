"""JSON as the daemon passes it on: agents may write texts, numbers and nesting that Python's reader refuses or that break later."""

from __future__ import annotations

import json
import re
from typing import Any

# Levels that are kept: Python's reader refuses about a thousand.
_LEVELS = 500
# Python refuses longer integers by default.
_DIGITS = 4000
# An escaped backslash; a surrogate pair; half of one.
_ESCAPES = re.compile(
    r"(\\\\)|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def read_json(data: bytes | str) -> Any:
    """Read JSON. Half of a surrogate pair becomes U+FFFD, and a value that Python cannot hold becomes its text.

    Raises ValueError if it is not JSON."""
    text = data.decode() if isinstance(data, bytes) else data
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPES.sub(lambda found: found[1] or found[2] or "\\ufffd", text)
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        return json.loads(_flattened(text), parse_int=_integer)


def write_json(message: dict[str, Any]) -> bytes:
    """Write JSON. The halves of a surrogate pair are joined, and half of one becomes U+FFFD."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS else digits


def _flattened(text: str) -> str:
    """Replace what is nested too deeply by a string of its text."""
    parts: list[str] = []
    level = copied = 0
    for token in _TOKENS.finditer(text):
        if token[0] in ("[", "{"):
            level += 1
            if level == _LEVELS:
                parts.append(text[copied : token.start()])
                copied = token.start()
        elif token[0] in ("]", "}"):
            level -= 1
            if level == _LEVELS - 1:
                parts.append(json.dumps(text[copied : token.end()]))
                copied = token.end()
    return "".join([*parts, text[copied:]])
