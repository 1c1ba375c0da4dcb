"""``poolgrad capi``: what users type, with a real compiler and real programs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli.command import poolgrad

# Prints the SoC and its arguments, and ends with their number.
PROGRAM = """
#include "acl/acl.h"
int main(int count, char** arguments) {
    int status = aclInit(nullptr);
    printf("%s %d", aclrtGetSocName(), status);
    for (int i = 1; i < count; ++i) printf(" %s", arguments[i]);
    printf("\\n");
    aclFinalize();
    return count - 1;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.cpp"
    path.write_text(PROGRAM, "utf-8")
    return path


def shell(script: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-euc", script], cwd=cwd, capture_output=True, text=True, timeout=120, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_build_prints_the_prefix() -> None:
    prefix = Path(poolgrad("capi", "build").stdout.strip())
    assert (prefix / "include/acl/acl.h").is_file()
    assert (prefix / "lib64/libascendcl.so").is_file()
    assert json.loads(poolgrad("capi", "build", "--json").stdout) == {"prefix": str(prefix)}


def test_flags_are_all_that_a_compiler_needs(source: Path, tmp_path: Path) -> None:
    flags = poolgrad("capi", "flags").stdout
    assert flags.count("\n") == 1
    assert flags.split() == json.loads(poolgrad("capi", "flags", "--json").stdout)
    assert shell(f"g++ -Wall -Wextra -Werror program.cpp {flags.strip()} -o program; ./program", tmp_path) == (
        "Ascend910B1 0\n"
    )


def test_env_makes_plain_commands_work(source: Path, tmp_path: Path) -> None:
    script = poolgrad("capi", "env").stdout
    assert all(line.startswith("export ") for line in script.splitlines())
    compile = "g++ -Wall -Wextra -Werror program.cpp -lascendcl -lnnopbase -lopapi -o program"
    assert shell(f"{script}\n{compile}\n./program", tmp_path) == "Ascend910B1 0\n"
    assert shell("./program", tmp_path) == "Ascend910B1 0\n", "LD_RUN_PATH has told the program where its library is"
    paths = shell(f'{script}\necho "$CPATH $ASCEND_HOME_PATH"', tmp_path, CPATH="/mine").split()
    assert paths[0].endswith("/include/aclnn:/mine")
    assert (Path(paths[1]) / "lib64/libopapi.so").exists()


def test_env_as_json() -> None:
    settings = json.loads(poolgrad("capi", "env", "--json").stdout)
    assert settings["ASCEND_HOME_PATH"] == poolgrad("capi", "build").stdout.strip()
    assert settings["LD_LIBRARY_PATH"] == settings["NPU_HOST_LIB"]


def test_env_leaves_a_true_cann_alone(tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libascendcl.so").touch()
    done = poolgrad("capi", "env", expect=2, ASCEND_HOME_PATH=str(tmp_path))
    assert done.stdout == ""
    assert "pass --force" in done.stderr
    assert "export" in poolgrad("capi", "env", "--force", ASCEND_HOME_PATH=str(tmp_path)).stdout


def test_env_may_be_asked_again(tmp_path: Path) -> None:
    ours = poolgrad("capi", "build").stdout.strip()
    assert poolgrad("capi", "env", ASCEND_HOME_PATH=ours).stdout
    assert poolgrad("capi", "env", ASCEND_HOME_PATH=str(tmp_path)).stdout, "an empty directory is no CANN"


def test_compile_hands_everything_to_the_compiler(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "made"
    poolgrad("capi", "compile", "-Wall", "-O1", "-std=c++20", source, "-o", program)
    assert shell(f"{program} || test $? = 0", tmp_path) == "Ascend910B1 0\n"
    source.write_text("int main() { return 0 }", "utf-8")
    assert "program.cpp:1" in poolgrad("capi", "compile", source, "-o", program, expect=1).stderr
    assert "nothing to compile" in poolgrad("capi", "compile", expect=2).stderr


@pytest.mark.parametrize("option", ["-pthread", "-lpthread", "-Wshadow", "-I/home/x", "-march=native", "-fshort-wchar"])
def test_an_option_of_the_compiler_with_an_h_is_no_call_for_help(option: str, source: Path, tmp_path: Path) -> None:
    program = tmp_path / "made"
    assert poolgrad("capi", "compile", option, source, "-o", program).stdout == ""
    assert shell(str(program), tmp_path) == "Ascend910B1 0\n"


@pytest.mark.parametrize("command", ["compile", "run"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_what_stands_alone(option: str, command: str) -> None:
    assert f"poolgrad capi {command} [OPTIONS]" in " ".join(poolgrad("capi", command, option).stdout.split())


def test_compile_takes_c_for_c(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text('#include "acl/acl.h"\nint main(void) { int class = aclInit(0); return class; }', "utf-8")
    poolgrad("capi", "compile", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", tmp_path / "made")
    shell("./made", tmp_path)


def test_run_is_compile_and_run(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = poolgrad("capi", "run", source, "one", "--two", expect=2, POOLGRAD_CACHE_DIR=str(cache))
    assert done.stdout == "Ascend910B1 0 one --two\n"
    (made,) = (cache / "capi-programs").iterdir()
    first = made.stat().st_mtime_ns
    poolgrad("capi", "run", source, POOLGRAD_CACHE_DIR=str(cache))
    assert made.stat().st_mtime_ns == first, "it was compiled once"


def test_run_notices_a_changed_header(tmp_path: Path) -> None:
    source, header = tmp_path / "program.cpp", tmp_path / "answer.h"
    source.write_text('#include "answer.h"\nint main() { return ANSWER; }', "utf-8")
    for answer in (3, 4):
        header.write_text(f"#define ANSWER {answer}\n", "utf-8")
        poolgrad("capi", "run", source, expect=answer, POOLGRAD_CACHE_DIR=str(tmp_path / "cache"))


def test_run_says_what_is_wrong_with_a_source(source: Path, tmp_path: Path) -> None:
    assert "there is no file" in poolgrad("capi", "run", tmp_path / "nothing.cpp", expect=2).stderr
    source.write_text("int main() { return 0 }", "utf-8")
    assert "program.cpp:1" in poolgrad("capi", "run", source, expect=1).stderr
    source.write_text('#include "no/such.h"', "utf-8")
    assert "no/such.h" in poolgrad("capi", "run", source, expect=1).stderr


def test_info_tries_the_library() -> None:
    told = poolgrad("capi", "info").stdout
    assert "self-test    passed" in told
    found = json.loads(poolgrad("capi", "info", "--json").stdout)
    assert found["self_test"] is True
    assert found["prefix"] in told


def test_info_says_no_when_the_server_cannot_start() -> None:
    done = poolgrad("capi", "info", expect=1, POOLGRAD_PYTHON="/no/such/python")
    assert "interpreter  /no/such/python" in done.stdout
    assert "self-test    failed" in done.stdout
    assert "can't start /no/such/python" in done.stdout


@pytest.mark.parametrize("command", ["build", "flags", "env", "info"])
def test_no_compiler_is_one_line(command: str, tmp_path: Path) -> None:
    done = poolgrad("capi", command, expect=2, CXX="no-such-compiler", POOLGRAD_CACHE_DIR=str(tmp_path))
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "no-such-compiler" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_is_no_directory_is_one_line(source: Path) -> None:
    done = poolgrad("capi", "run", source, expect=2, POOLGRAD_CACHE_DIR=str(source))
    assert done.stderr.count("\n") == 1
    assert "POOLGRAD_CACHE_DIR" in done.stderr
