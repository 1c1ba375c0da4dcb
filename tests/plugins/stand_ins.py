"""The calling sides of three test tools, as small as what is known of them allows: none of the tools can be had here.

Each makes inputs from a case, hands them to the plug-in the way the tool does, and returns what the plug-in gave.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

Tensors = dict[str, Any]


# ---- TTK -------------------------------------------------------------------------------------------------------------


def load_by_path(path: str | Path) -> ModuleType:
    """A file as a tool loads it: by its path, under a name of the tool's own."""
    spec = importlib.util.spec_from_file_location(f"loaded_by_a_tool_{Path(path).stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ttk:
    """``python3 -m ttk aclnn --plugin FILE``: the file is parsed for its literal, then loaded."""

    def __init__(self, path: str | Path) -> None:
        tree = ast.parse(Path(path).read_text("utf-8"))
        (literal,) = (
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__spec__"]
        )
        self.names: dict[str, str] = ast.literal_eval(literal)
        self.module = load_by_path(path)

    def spec(self, api: str) -> Any:
        return getattr(self.module, self.names[api])

    def run(
        self,
        api: str,
        parameters: Tensors,
        *,
        formats: Any = ("ND",),
        soc: str = "Ascend910B",
        promote: Callable[[Any], Any] = lambda value: value,
    ) -> list[Any]:
        """Have the inputs changed, then ask for the golden result of every argument in C's order.

        The change has to be made in the tensors themselves: what comes back is dropped. ``promote`` is
        ``--golden-mode Promote``, which hands other tensors to the golden side.
        """
        spec = self.spec(api)
        case = {"testcase_name": "case", "tensor_formats": formats, "short_soc_version": soc}
        if hasattr(spec, "customize_inputs"):
            spec.customize_inputs(*parameters.values(), **case)
        outputs = spec.golden(*map(promote, parameters.values()), **case)
        assert isinstance(outputs, list)
        return outputs


# ---- ATK -------------------------------------------------------------------------------------------------------------


class BaseApi:
    """What ATK's executors derive from."""

    def __init__(self, device: str) -> None:
        self.device = device

    def init_by_input_data(self, input_data: Any) -> None:
        pass


class AclnnBaseApi(BaseApi):
    """What executors that call aclnn functions by themselves derive from."""


@contextmanager
def atk_installed() -> Iterator[dict[str, type]]:
    """A package ``atk`` as far as a plug-in sees it; the classes that register themselves, by their names."""
    registered: dict[str, type] = {}

    def register(name: str) -> Callable[[type], type]:
        def keep(executor: type) -> type:
            assert name not in registered
            registered[name] = executor
            return executor

        return keep

    package = "atk.tasks.api_execute"
    names = ("atk", "atk.tasks", package, f"{package}.base_api", f"{package}.aclnn_base_api")
    modules = {name: ModuleType(name) for name in names}
    modules[package].register = register  # type: ignore[attr-defined]
    modules[f"{package}.base_api"].BaseApi = BaseApi  # type: ignore[attr-defined]
    modules[f"{package}.aclnn_base_api"].AclnnBaseApi = AclnnBaseApi  # type: ignore[attr-defined]
    before = {name: sys.modules.pop(name, None) for name in (*names, "poolgrad.plugins.atk")}
    sys.modules.update(modules)
    try:
        yield registered
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def atk_load(path: str | Path) -> ModuleType:
    """The file of a plug-in, as ATK loads it: it evaluates the names of both base classes in there."""
    module = load_by_path(path)
    for name in ("BaseApi", "AclnnBaseApi"):
        assert isinstance(eval(name, vars(module)), type)
    return module


def atk_run(executor: type, inputs: Tensors, device: str = "cpu") -> tuple[Any, Tensors]:
    """One case on one device: the output, and the inputs as the executor left them."""
    data = SimpleNamespace(kwargs=dict(inputs))
    task = executor(device)
    task.init_by_input_data(data)
    return task(data, with_output=True), data.kwargs


# ---- msOpST ----------------------------------------------------------------------------------------------------------


def msopst_run(case: dict[str, Any]) -> list[Any]:
    """The expected result of a case that names ``FILE:FUNCTION``: what has a name is passed by it, all else is not."""
    path, function = case["calc_expect_func_file"].rsplit(":", 1)
    tensors = [{**tensor, "value": tensor.get("value")} for tensor in (*case["input_desc"], *case["output_desc"])]
    params = {tensor["name"]: tensor for tensor in tensors if "name" in tensor}
    params |= {attribute["name"]: attribute["value"] for attribute in case.get("attr", ())}
    outputs = getattr(load_by_path(path), function)(**params)
    assert isinstance(outputs, list)
    return outputs
