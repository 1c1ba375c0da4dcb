"""Operators and products at the command line: as people write them, and as shells complete them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.inside import poolgrad

from poolgrad.base.products import PRODUCTS, find_product
from poolgrad.operators import REGISTRY

# In every spelling that is completed.
OPERATORS = [name.removeprefix("aclnn") for name in REGISTRY]
SPELLINGS = [*OPERATORS, *REGISTRY, *(operator.python_name for operator in REGISTRY.values())]
COMMAND = str(Path(sys.executable).with_name("poolgrad"))


@pytest.mark.parametrize("name", ["Ascend910B3", "910B3", "A2", "Atlas A2 训练系列产品/Atlas A2 推理系列产品"])
def test_a_product_by_the_names_of_devices_documents_and_people(name: str) -> None:
    call = ("AvgPool2dBackward", "--x", "1,16,4,4", "--kernel-size", 4, "--product", name, "--json")
    assert poolgrad("check", *call).data["product"] == "Atlas A2"
    assert poolgrad("explain", "AvgPool2dBackward", "--product", name, "--json").data["product"] == "Atlas A2"


def environment_of(shell: str, line: str) -> dict[str, str]:
    """What the shell's script sets when it asks how the last word of a line may go on."""
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return asked[shell] | {"_POOLGRAD_COMPLETE": f"complete_{shell}"}


def completed(line: str, shell: str = "bash") -> list[str]:
    answer = run(COMMAND, **environment_of(shell, line)).strip()
    if shell == "zsh":  # _arguments '*: :(("word":"help" ...))', or, with nothing to say, _files
        inner = answer.removeprefix("_arguments '*: :((").removesuffix("))'")
        return [] if inner == "_files" else [line.split('"')[1] for line in inner.splitlines()]
    return [line.partition("\t")[0] for line in answer.splitlines()]


def run(*command: str, **environment: str) -> str:
    """What the command prints, where the shell finds poolgrad as it does after an installation."""
    environment["PATH"] = f"{Path(COMMAND).parent}:{os.environ['PATH']}"
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def spelt(start: str) -> list[str]:
    found = [name for name in SPELLINGS if name.startswith(start)]
    assert found
    return found


@pytest.mark.parametrize("command", ["run", "check", "explain", "view", "cases"])
def test_operators_are_completed(command: str) -> None:
    assert completed(f"poolgrad {command} Avg") == spelt("Avg")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_operators_are_completed_in_every_spelling(shell: str) -> None:
    assert completed("poolgrad check ", shell) == OPERATORS
    for start in ("avg_p", "aclnnMax", "max_pool2d_with_i"):
        assert completed(f"poolgrad check {start}", shell) == spelt(start)
    assert completed("poolgrad check suite", shell) == [], "so the shell completes files"


def test_the_word_for_all_operators_is_completed() -> None:
    assert completed("poolgrad cases al") == ["all"]


@pytest.mark.parametrize("command", ["run", "check", "explain", "view", "golden"])
def test_products_are_completed(command: str) -> None:
    argument = "cases.json" if command == "golden" else "AvgPool2dBackward"
    assert completed(f"poolgrad {command} {argument} --product Ascend95") == ["Ascend950"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_products_are_completed_to_words_that_need_no_quotes(shell: str) -> None:
    for start in ("", "Asc"):
        words = completed(f"poolgrad check AvgPool2dBackward --product {start}", shell)
        assert {find_product(word) for word in words} == set(PRODUCTS)
        assert all(shlex.quote(word) == word for word in words)


def test_bash_inserts_a_word_that_works() -> None:
    """With the script that users install."""
    script = """
        source <(_POOLGRAD_COMPLETE=source_bash poolgrad)
        COMP_WORDS=(poolgrad check AvgPool2dBackward --x 1,16,4,4 --kernel-size 4 --product Ascend95) COMP_CWORD=8
        _poolgrad_completion poolgrad
        eval "poolgrad check AvgPool2dBackward --x 1,16,4,4 --kernel-size 4 --product $COMPREPLY"
    """
    assert "accepted: aclnnAvgPool2dBackward on Ascend 950" in run("bash", "-euc", script)
