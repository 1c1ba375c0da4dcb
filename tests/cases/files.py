"""Small case files, made from what a test changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def atk_tensor(name: str, shape: list[int], dtype: str = "fp32", values: Any = (-1, 1)) -> dict[str, Any]:
    return {"name": name, "type": "tensor", "required": True, "dtype": dtype, "shape": shape, "range_values": values}


def atk_value(name: str, value: Any, type: str = "attr", dtype: str = "int") -> dict[str, Any]:
    return {"name": name, "type": type, "required": True, "dtype": dtype, "range_values": value}


def atk_list(name: str, *values: Any, type: str = "attrs") -> list[dict[str, Any]]:
    return [atk_value(name, value, type) for value in values]


def atk_average(**changes: Any) -> dict[str, Any]:
    """The names and forms of the AvgPool2dBackward files; ``changes`` replace inputs by name."""
    inputs = {
        "gradOutput": atk_tensor("gradOutput", [2, 3, 4, 4]),
        "self": atk_tensor("self", [2, 3, 8, 8]),
        "kernel_size": atk_list("kernel_size", 2, 2),
        "stride": atk_list("stride", 2, 2),
        "padding": atk_list("padding", 0, 0),
        "ceil_mode": atk_value("ceil_mode", False, dtype="bool"),
        "count_include_pad": atk_value("count_include_pad", True, dtype="bool"),
        "divisor_override": atk_value("divisor_override", 0),
        "cube_math_type": atk_value("cube_math_type", 1),
    }
    return _atk("AvgPool2dBackward", "avg_pool2d_backward", inputs | changes)


def atk_max(**changes: Any) -> dict[str, Any]:
    inputs = {
        "gradOutput": atk_tensor("gradOutput", [2, 3, 4, 4]),
        "self": atk_tensor("self", [2, 3, 8, 8]),
        "indices": atk_tensor("indices", [1], "int32", ["-inf", "inf"]),
        "kernelSize": atk_list("kernelSize", 2, 2),
        "stride": atk_list("stride", 2, 2),
        "padding": atk_list("padding", 0, 0),
        "dilation": atk_list("dilation", 1, 1),
        "ceilMode": atk_value("ceilMode", False, dtype="bool"),
    }
    return _atk("MaxPool2dWithIndicesBackward", "max_pool2d_with_indices_backward", inputs | changes)


def atk_adaptive_max(**changes: Any) -> dict[str, Any]:
    inputs = {
        "gradOutput": atk_tensor("gradOutput", [1], values=["null"]),
        "self": atk_tensor("self", [2, 3, 9, 7], "bf16"),
        "indices": atk_tensor("indices", [1], "int64", ["null"]),
        "output_size": atk_list("output_size", 4, 5, type="attr_tuple"),
    }
    return _atk("AdaptiveMaxPool2dBackward", "adaptive_max_pool2d_backward", inputs | changes)


def atk_adaptive_average(**changes: Any) -> dict[str, Any]:
    inputs = {
        "gradOutput": atk_tensor("gradOutput", [2, 3, 2, 2, 2], "fp16"),
        "Input": atk_tensor("Input", [2, 3, 4, 5, 6], "fp16"),
    }
    return _atk("AdaptiveAvgPool3dBackward", "adaptive_avg_pool3d_backward", inputs | changes)


def _atk(aclnn_name: str, torch_name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": 7,
        "name": f"torch.ops.aten.{torch_name}",
        "aclnn_name": aclnn_name,
        "api_type": "function",
        "standard": {"acc": {"single_bm": "default"}, "perf": {}},
        "inputs": list(inputs.values()),
    }


TTK_AVERAGE = {
    "testcase_name": "avg_1",
    "api_name": "aclnnAvgPool2dBackward",
    "tensor_view_shapes": "((2, 3, 4, 4), (2, 3, 8, 8), (2, 3, 8, 8))",
    "tensor_dtypes": "('float16', 'float16', 'float16')",
    "tensor_formats": "('NCHW', 'NCHW', 'NCHW')",
    "tensor_storage_shapes": "((2, 3, 4, 4), (2, 3, 8, 8), (400,))",
    "tensor_view_offsets": "(0, 0, 5)",
    "tensor_view_strides": "(None, (192, 64, 8, 1), (192, 64, 8, 1))",
    "output_tensor_indexes": "(2,)",
    "attributes": "{'kernelSize': (2, 2), 'stride': (2,), 'padding': (0, 0), 'ceilMode': False, "
    "'countIncludePad': False, 'divisorOverride': 3, 'cubeMathType': 0}",
    "input_data_ranges": "((-5, 5), (0, 1))",
    "precision_tolerances": "((0.001, 0.001),)",
    "absolute_precision": "1e-8",
}


def ttk_text(*rows: dict[str, str]) -> str:
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list({column: "" for row in rows for column in row}))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


LINE_MAX: dict[str, Any] = {
    "name": "max_1",
    "operator": "aclnnMaxPool2dWithIndicesBackward",
    "gradOutput": {"dtype": "float32", "shape": [2, 3, 4, 4]},
    "self": {"dtype": "float32", "shape": [2, 3, 8, 8]},
    "kernelSize": [2, 2],
    "stride": [2, 2],
}


def write(directory: Path, name: str, content: Any) -> Path:
    """Text as it is, bytes as they are, a list of ATK cases as JSON, and JSON lines from a tuple of objects."""
    path = directory / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, tuple):
        path.write_text("".join(json.dumps(line) + "\n" for line in content))
    else:
        path.write_text(json.dumps(content))
    return path
