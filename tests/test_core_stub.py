"""`_core.pyi` says what the compiled module is."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import shakedown
from shakedown import _core

STUB = Path(shakedown.__file__).with_name("_core.pyi")


def stub_classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)}


def stub_functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def is_a_shape(node: ast.ClassDef) -> bool:
    """A typed dictionary exists for the type checker alone."""
    return any(ast.unparse(base) == "TypedDict" for base in node.bases)


def names(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]


def test_the_same_names_on_both_sides() -> None:
    tree = ast.parse(STUB.read_text())
    shapes = {
        name
        for name, node in stub_classes().items()
        if is_a_shape(node) or any(isinstance(base, ast.Name) and base.id in stub_classes() for base in node.bases)
    }
    declared = (stub_classes().keys() | stub_functions(tree.body).keys()) - shapes
    assert declared == {name for name in dir(_core) if not name.startswith("_")}


@pytest.mark.parametrize("name", [name for name, node in stub_classes().items() if not node.bases])
def test_classes_have_the_declared_methods(name: str) -> None:
    declared = stub_functions(stub_classes()[name].body)
    compiled = getattr(_core, name)
    public = {member for member in vars(compiled) if not member.startswith("_")}
    assert public == declared.keys() - {"__init__"}
    for method, function in declared.items():
        member = compiled if method == "__init__" else getattr(compiled, method)
        if callable(member):
            expected = names(function)[method == "__init__" :]
            assert list(inspect.signature(member).parameters) == expected, method


def test_functions_have_the_declared_parameters() -> None:
    for name, function in stub_functions(ast.parse(STUB.read_text()).body).items():
        assert list(inspect.signature(getattr(_core, name)).parameters) == names(function)


def test_errors_carry_their_parts() -> None:
    with pytest.raises(_core.JobError, match=r"\[a\] iodeph=4") as job:
        _core.check_job("[a]\niodeph=4", 1 << 30)
    assert (job.value.section, job.value.option) == ("a", "iodeph")
    assert job.value.hint == "did you mean `iodepth`?"
    with pytest.raises(_core.ProfileError) as profile:
        _core.Machine("nonsense = 1", seed=1)
    assert profile.value.key
    assert profile.value.key in str(profile.value)
    assert issubclass(_core.JobError, ValueError)
    assert issubclass(_core.ProfileError, ValueError)
