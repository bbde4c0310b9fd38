"""Who was tested."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Identity(BaseModel):
    """What is known about a target."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["model", "lab", "file", "directory", "nbd", "disk", "loop"]
    text: str
    name: str
    model: str
    capacity_bytes: int
    shingled: bool | None = None
    details: dict[str, str] = Field(default_factory=dict)

    @property
    def is_array(self) -> bool:
        """Whether it is a modelled array of drives, in a box or without one."""
        return self.kind == "model" and "drives" in self.details

    @property
    def scale_divisor(self) -> int:
        """How many times smaller a modelled drive is than the one it stands for; 1 for all else."""
        text = self.details.get("scale_divisor", "")
        return int(text) if text.isascii() and text.isdecimal() else 1
