"""What is wrong with a protocol file, in plain sentences."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Final

from pydantic import ValidationError

_MOST_COMPLAINTS: Final = 5
_KNOWN_KEYS: Final = (
    *("format_version", "name", "title", "question", "source", "uses", "parameters", "steps", "findings", "published"),
    *(
        "interval",
        "job",
        "idle",
        "until",
        "required",
        "restart",
        "condition",
        "drop",
        "hold",
        "within",
        "window",
        "patience",
    ),
    *("factor", "bytes", "duration", "kind", "step", "goes_on", "finding", "row", "subject"),
)


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """A hint naming what ``text`` resembles among ``known``, or nothing."""
    near = difflib.get_close_matches(text, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""


def complaint(error: ValidationError, label: str, behind: Callable[[str], str]) -> tuple[str, str]:
    """The message for a file that pydantic refused, a line for each fault, and a hint (may be empty).

    ``behind`` tells, in brackets, which parameters the text at a place was made of.
    """
    faults = _without_consequences(error.errors(include_url=False))
    lines = [_sentence(fault, label) + behind(_place(fault)) for fault in faults[:_MOST_COMPLAINTS]]
    if len(faults) > _MOST_COMPLAINTS:
        lines.append(f"and more: {len(faults)} faults in all")
    return "\n".join(lines), next(filter(None, map(_hint, faults)), "")


def _without_consequences(faults: list[Any]) -> list[Any]:
    """Without a list's being too short where that is only because its entries are wrong."""
    places = [fault["loc"] for fault in faults]

    def follows(fault: Any) -> bool:
        place = fault["loc"]
        return fault["type"] == "too_short" and any(other[: len(place)] == place and other != place for other in places)

    return [fault for fault in faults if not follows(fault)]


def _sentence(fault: Any, label: str) -> str:
    where = _key(fault["loc"])
    subject = f"`{label}`: `{where}`" if where else f"`{label}`:"
    context = fault.get("ctx", {})
    match fault["type"]:
        case "missing" | "union_tag_not_found":
            missing = where if fault["type"] == "missing" else f"{where}.condition"
            return f"`{label}`: `{missing}` is missing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            return f"{subject} is not known"
        case "union_tag_invalid":
            known = context["expected_tags"].replace("'", "")
            return f"`{label}`: `{where}.condition` is {context['tag']!r}: must be one of {known}"
        case "step" | "finding" | "names":
            return f"{subject} {fault['msg']}"
        case "until":
            return f"`{label}`: `{_place(fault)}` {fault['msg']}"
    return f"{subject} is {_shown(fault['input'])}: {_demand(fault)}"


def _place(fault: Any) -> str:
    where = _key(fault["loc"])
    return f"{where}.{fault['ctx']['key']}" if fault["type"] == "until" else where


def _demand(fault: Any) -> str:
    context = fault.get("ctx", {})
    if fault["type"] in {"greater_than", "less_than"} and fault["loc"][-1] in {"drop", "within"}:
        return "must be between 0 and 1"
    plain = {
        "string_type": "must be text in quotes",
        "string_pattern_mismatch": "may hold small letters, digits and hyphens only"
        if fault["loc"][-1] in {"name", "step"}
        else f"must match {context.get('pattern')}",
        "literal_error": f"must be {context.get('expected')}",
        "model_type": "must be a table",
        "dataclass_type": "must be a table",
        "dict_type": "must be a table",
        "model_attributes_type": "must be a table",
        "tuple_type": "must be a list",
        "bool_type": "must be true or false",
        "too_short": "must not be empty",
        "string_too_short": "must not be empty",
        "too_long": f"must hold at most {context.get('max_length')} entries",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
    }
    sentence = plain.get(fault["type"]) or str(fault["msg"]).removeprefix("Value error, ")
    return sentence.replace("Input should be", "must be")


def _hint(fault: Any) -> str:
    context = fault.get("ctx", {})
    if fault["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return did_you_mean(str(fault["loc"][-1]), _KNOWN_KEYS)
    if fault["type"] == "union_tag_invalid":
        return did_you_mean(str(context["tag"]), context["expected_tags"].replace("'", "").split(", "))
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        return did_you_mean(fault["input"], context["expected"].replace("'", "").replace(" or ", ", ").split(", "))
    return ""


def _key(location: tuple[int | str, ...]) -> str:
    """``("steps", 2, "until", "cliff", "drop")`` as ``steps[2].until.drop``: the tag of a condition is no key."""
    text = ""
    for position, part in enumerate(location):
        if position and location[position - 1] == "until":
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."
