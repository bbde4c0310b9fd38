"""Who was tested."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Identity(BaseModel):
    """What is known about a target."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["model", "lab", "file", "directory", "nbd"]
    text: str
    name: str
    model: str
    capacity_bytes: int
    shingled: bool | None = None
    details: dict[str, str] = Field(default_factory=dict)
