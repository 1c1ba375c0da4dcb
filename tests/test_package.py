"""The package as users meet it: import, source distribution, wheel."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packages import ROOT, build_into, python

import poolgrad


def test_import_is_light() -> None:
    """Neither Numba nor torch comes with the package, nor with the documented layer."""
    done = python(
        "import sys, poolgrad, poolgrad.acl; print([m for m in ('numba', 'torch', 'llvmlite') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_dir_shows_what_users_call() -> None:
    names = "print(*(n for n in dir(poolgrad) if not n.startswith('_')))"
    done = python(f"import poolgrad; {names}; from poolgrad import acl, precision; {names}")
    alone, with_acl = (line.split() for line in done.stdout.splitlines())
    assert alone == sorted(poolgrad.__all__)
    assert with_acl == sorted([*poolgrad.__all__, "acl"]), "a module that is public and was imported is there, too"


def test_dir_still_shows_what_python_has() -> None:
    assert {"__version__", "__doc__", "__file__", "__all__"} < set(dir(poolgrad))


def test_without_torch_its_module_says_what_to_install() -> None:
    # None in sys.modules is how Python is told that there is no such module.
    done = python("import sys; sys.modules['torch'] = None; import poolgrad, poolgrad.torch")
    assert done.returncode == 1
    *_, last = done.stderr.strip().splitlines()
    assert last == (
        "ModuleNotFoundError: poolgrad.torch needs torch, which is not installed here. Run: "
        'pip install torch==2.13.0 (or, in a checkout of poolgrad: pip install ".[torch]"). '
        "All else of poolgrad works without it."
    )
    assert "During handling" not in done.stderr


def test_a_torch_that_lacks_something_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("import a_part_of_torch\n")
    done = python("import poolgrad.torch", PYTHONPATH=str(tmp_path))
    assert done.stderr.strip().splitlines()[-1] == "ModuleNotFoundError: No module named 'a_part_of_torch'"


def test_refused_calls_need_no_kernels() -> None:
    code = """if True:
        import sys, numpy as np, poolgrad
        try:
            poolgrad.avg_pool2d_backward(np.ones((1, 1, 1)), (1, 2, 2), 0)
        except poolgrad.AclnnError:
            print('numba' in sys.modules)
    """
    assert python(code).stdout.strip() == "False"


def test_two_kinds_of_a_piece_can_not_share_a_name() -> None:
    from poolgrad.kernels.jit.memory import piece, piece_named

    def kind() -> None:
        pass

    piece_named("a name of its own")(kind)
    with pytest.raises(ValueError, match="there is a piece a name of its own already"):
        piece(kind)


@pytest.fixture(scope="module")
def built(tmp_path_factory: Any) -> Path:
    where: Path = tmp_path_factory.mktemp("built")
    build_into(where)
    return where


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_source_distribution_passes_its_own_tests(built: Path, tmp_path: Path) -> None:
    """Those that read what lies around the package, and need no kernels: these would be compiled once more."""
    (archive,) = built.glob("*.tar.gz")
    subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    (unpacked,) = tmp_path.iterdir()
    documents = {path.name for path in ROOT.glob("*.md")}
    assert documents == {path.name for path in unpacked.glob("*.md")}
    assert {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "DEVIATIONS.md"} <= documents
    environment = os.environ | {"PYTHONPATH": str(unpacked / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "tests/test_docs.py", "-k", "not examples and not demo"]
    done = subprocess.run(
        command, cwd=unpacked, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import poolgrad; print(poolgrad.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(unpacked))


def test_package_page_has_no_links_to_files(wheel: Path) -> None:
    """A page in an index has no neighbours that they could lead to."""
    name = next(name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(zipfile.ZipFile(wheel).read(name))
    page = metadata.get_payload(decode=True).decode("utf-8")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# poolgrad\n\nPooling on the CPU, forward and backward")
    assert not re.findall(r"\]\((?!https?://|#)[^)]*\)", page)
    assert "![" not in page
    headings = re.findall(r"^##.*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert re.findall(r"^##.*$", page, re.MULTILINE) == headings
    assert "中文说明 (README.zh.md)" in page
    assert "docs/capi.md: how to use it" in page


def test_wheel_is_pure_typed_and_complete(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "src" / "poolgrad").rglob("*") if path.suffix in (".py", ".h", ".cpp")]
    sources = {str(path.relative_to(ROOT / "src")) for path in files}
    assert sources <= names
    assert "poolgrad/capi/shim/shim.cpp" in names
    assert "poolgrad/py.typed" in names
    assert not [name for name in names if name.startswith("tests")]
