"""``poolgrad view``: the picture shows what the reference computes."""

from __future__ import annotations

import os
import resource
import struct
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.inside import poolgrad

from poolgrad.cli import drawing
from poolgrad.cli.line import Line
from poolgrad.cli.plane import Plane, plane_of
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY, find_operator
from poolgrad.selftest import reference

AVG, MAX = "aclnnAvgPool2dBackward", "aclnnMaxPool2dWithIndicesBackward"


def plane(operator: str, x: str, grad: str | None = None, chosen: tuple[int, ...] = (), **numbers: Any) -> Plane:
    line = Line(find_operator(operator), {"x": x} | ({} if grad is None else {"grad_output": grad}), numbers)
    return plane_of(line.case(), line.arrays, chosen, seed=0)


def words(picture: Any) -> list[str]:
    return [text.get_text() for axes in picture.axes for text in axes.texts] + [t.get_text() for t in picture.texts]


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("ceil_mode", [True, False])
def test_shares_of_an_average_add_up_to_the_gradient(ceil_mode: bool, include_pad: bool) -> None:
    numbers = {"kernel_size": (3, 2), "stride": (2,), "padding": (1,)}
    seen = plane(AVG, "1,1,6,5", ceil_mode=ceil_mode, count_include_pad=include_pad, **numbers)
    ones = np.ones(seen.of_windows.shape)
    exact = reference.exact(
        reference.avg_pool2d_backward, ones, (1, 6, 5), (3, 2), (2, 2), (1, 1), ceil_mode, include_pad
    )
    shares = seen.shares()
    assert len(shares) == 30
    for place, windows in shares.items():
        assert seen.exactly(windows) == exact.value[(0, *place)]
        assert len(windows) == exact.terms[(0, *place)]
    np.testing.assert_allclose(seen.of_elements, exact.value[0].astype(float), rtol=1e-6)
    shown = words(drawing.picture(seen))
    for value in exact.value.ravel():
        assert str(value) in shown
    for divisor in seen.divisors.ravel():
        assert f"÷ {divisor}" in shown


def test_a_layer_of_3d_has_the_windows_that_hold_it() -> None:
    seen = plane("AdaptiveAvgPool3dBackward", "1,2,3,4,5", "1,2,2,3,2", (0, 1, 1))
    assert seen.depths == [0, 1]  # the middle one of three layers is in both windows
    exact = reference.exact(reference.adaptive_avg_pool3d_backward, np.ones((1, 2, 3, 2)), (1, 3, 4, 5))
    for place, windows in seen.shares().items():
        assert seen.exactly(windows) == exact.value[(0, 1, *place)]
    assert "2×2×3" in words(drawing.picture(seen))
    assert plane("AdaptiveAvgPool3dBackward", "1,2,3,4,5", "1,2,2,3,2").depths == [0]


def test_gradients_of_a_maximum_go_where_the_largest_number_is(tmp_path: Path) -> None:
    x = np.random.default_rng(3).permutation(144).astype(np.float64).reshape(2, 2, 6, 6)
    grad = np.arange(1.0, 37.0).reshape(2, 2, 3, 3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "g.npy", grad)
    files = (str(tmp_path / "x.npy"), str(tmp_path / "g.npy"))
    seen = plane(MAX, *files, chosen=(1, 0), kernel_size=(3,), stride=(2,), padding=(1,))
    indices = reference.max_pool_indices(x, (3, 3), (2, 2), (1, 1))
    wanted = reference.max_pool2d_with_indices_backward(grad, x.shape, indices)
    assert np.array_equal(seen.indices[0], indices[1, 0])
    assert np.array_equal(seen.of_elements, wanted[1, 0])
    shown = words(drawing.picture(seen))
    for value, index in zip(grad[1, 0].ravel(), indices[1, 0].ravel(), strict=True):
        assert f"{value:g}" in shown
        assert f"→ {index}" in shown
    for value in wanted[1, 0].ravel():
        assert f"{value:g}" in shown


def test_a_layer_of_a_volume_gets_the_gradients_whose_indices_name_it(tmp_path: Path) -> None:
    x = np.random.default_rng(5).permutation(2 * 5 * 4 * 6).astype(np.float64).reshape(1, 2, 5, 4, 6)
    grad = np.arange(1.0, 37.0).reshape(1, 2, 3, 2, 3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "g.npy", grad)
    indices = reference.adaptive_max_pool_indices(x, (3, 2, 3))[0, 1]
    wanted = np.zeros((5, 4, 6))
    for index, value in zip(indices.ravel(), grad[0, 1].ravel(), strict=True):
        wanted.ravel()[index] += value
    for layer in range(5):
        seen = plane("AdaptiveMaxPool3dBackward", str(tmp_path / "x.npy"), str(tmp_path / "g.npy"), (0, 1, layer))
        assert np.array_equal(seen.of_elements, wanted[layer])
        assert seen.depths == [o for o in range(3) if o * 5 // 3 <= layer < -(-(o + 1) * 5 // 3)]
        sums = np.zeros((4, 6))
        for element, shares in seen.shares().items():
            sums[element] = sum(seen.of_windows[share] for share in shares)
        assert np.array_equal(sums, wanted[layer])
        assert np.array_equal(seen.arriving() > 0, wanted[layer] > 0)
        shown = words(drawing.picture(seen))
        for index in indices[seen.depths].ravel():
            assert f"→ {index}" in shown
            assert str(tuple(map(int, np.unravel_index(index, (5, 4, 6))))) in shown
        assert str(layer * 24) in shown  # the index of the first element
        assert f"depth {layer} of 5" in seen.place


def test_an_index_may_point_into_a_layer_from_outside(tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.array([3, 3], np.int32).reshape(1, 1, 2, 1, 1))
    tensors = {"x": "1,1,2,2,2", "grad_output": "1,1,2,1,1", "indices": str(tmp_path / "i.npy")}
    line = Line(find_operator("AdaptiveMaxPool3dBackward"), tensors, {})
    first, second = (plane_of(line.case(), line.arrays, (0, 0, layer), seed=0) for layer in (0, 1))
    assert first.depths == [0, 1]
    assert first.of_elements.tolist() == [[0, 0], [0, 2]]
    assert second.depths == [1]
    assert second.shares() == {}
    drawing.draw(second, tmp_path / "a.svg")


def test_maps_of_large_layers() -> None:
    seen = plane("AdaptiveMaxPool3dBackward", "1,1,3,50,40", "1,1,2,25,20", (0, 0, 1))
    drawn = images(drawing.picture(seen))
    assert np.array_equal(drawn["gradInput"].get_array(), seen.of_elements)
    assert np.array_equal(drawn["gradients that arrive at an element"].get_array(), seen.of_elements)


def test_channels_may_come_last() -> None:
    first = plane(MAX, "1,2,6,4", kernel_size=(2,))
    last = plane(MAX, "1,6,4,2:NHWC", kernel_size=(2,))
    assert np.array_equal(first.of_elements, last.of_elements)
    assert first.of_elements.shape == (6, 4)


def test_numbers_for_small_planes_and_maps_for_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    average = ("view", AVG, "--kernel-size", "3", "--stride", "2", "--padding", "1", "-o", "out.png", "--json")
    for size, shows in (("6,6", "numbers"), ("1,18", "numbers"), ("21,5", "maps"), ("90,3000", "maps")):
        said = poolgrad(*average, "--x", f"1,2,{size}", "--plane", "0,1").data
        assert said["shows"] == shows
        assert "plane (0, 1) of (1, 2)" in said["plane"]
        start = Path("out.png").read_bytes()[:24]
        assert start[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", start[16:])
        assert 400 < width < 3000
        assert 200 < height < 3000
    maximum = ("view", MAX, "--kernel-size", "2", "--dilation", "2", "-o", "out.svg", "--json")
    for size, shows in (("6,6", "numbers"), ("60,50", "maps")):
        assert poolgrad(*maximum, "--x", f"1,1,{size}").data["shows"] == shows
        assert Path("out.svg").read_text("utf-8").startswith("<?xml")
    assert sorted(os.listdir()) == ["out.png", "out.svg"]


def test_a_map_of_a_giant_plane_shows_means() -> None:
    figure = drawing.picture(plane(AVG, "1,1,1,2500", kernel_size=(1, 5)))
    (image,) = (axes.images[0] for axes in figure.axes if axes.get_title().startswith("gradInput"))
    assert image.get_array().shape == (1, 834)
    np.testing.assert_allclose(image.get_array(), 0.2, rtol=1e-6)


def images(figure: Any) -> dict[str, Any]:
    """The maps of a picture, by what they show."""
    return {axes.get_title().split(",")[0]: axes.images[0] for axes in figure.axes if axes.images}


@pytest.mark.parametrize("operator", [AVG, MAX])
@pytest.mark.parametrize("signs", ["both", "negative"])
def test_zero_is_the_middle_of_the_colours_of_signed_gradients(operator: str, signs: str, tmp_path: Path) -> None:
    grad = np.random.default_rng(1).uniform(-1 if signs == "both" else -5, 4 if signs == "both" else -1, (1, 1, 30, 30))
    np.save(tmp_path / "g.npy", grad)
    seen = plane(operator, "1,1,60,60", str(tmp_path / "g.npy"), kernel_size=(2,))
    drawn = images(drawing.picture(seen))
    assert drawn["gradInput"].norm(0.0) == 0.5
    assert drawn["gradInput"].norm.vmax == np.abs(seen.of_elements).max()  # which has the strongest colour
    red, green, blue, _ = drawn["gradInput"].cmap(0.5)
    assert min(red, green, blue) > 0.9, "zero is pale"
    if operator == MAX:
        assert drawn["gradOutput"].norm(0.0) == 0.5
    others = [image for name, image in drawn.items() if name not in ("gradInput", "gradOutput")]
    assert others
    for image in others:  # counts have no sign
        assert image.cmap.name == "viridis"


def test_gradients_of_one_sign_use_all_colours() -> None:
    drawn = images(drawing.picture(plane(AVG, "1,1,60,60", kernel_size=(3,), stride=(2,))))["gradInput"]
    assert drawn.cmap.name == "viridis"
    assert (drawn.norm.vmin, drawn.norm.vmax) == (drawn.get_array().min(), drawn.get_array().max())


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_colours_of_signed_gradients_among_nan_and_inf(special: float, tmp_path: Path) -> None:
    grad = np.full((1, 1, 30, 30), special)
    np.save(tmp_path / "g.npy", grad)
    drawing.draw(plane(AVG, "1,1,60,60", str(tmp_path / "g.npy"), kernel_size=(2,)), tmp_path / "a.png")
    grad[0, 0, :2, 0] = -3, 1
    np.save(tmp_path / "g.npy", grad)
    drawn = images(drawing.picture(plane(AVG, "1,1,60,60", str(tmp_path / "g.npy"), kernel_size=(2,))))["gradInput"]
    assert (drawn.norm.vmin, drawn.norm.vmax) == (-0.75, 0.75)
    assert drawn.norm(0.0) == 0.5


FORWARDS = pytest.mark.parametrize(
    "operator", [op for op in REGISTRY.values() if not op.is_gradient], ids=lambda operator: operator.python_name
)


def pooled_plane(operator: Operator, sizes: tuple[int, ...], x: Any, layer: int) -> tuple[Plane, Any]:
    """Some layer of a forward pass over x, or over a shape, and the windows of each axis."""
    fixed = {Role.KERNEL: (3,), Role.STRIDE: (2,), Role.PADDING: (1,), Role.CEIL_MODE: True}
    adaptive = {Role.OUTPUT_SIZE: tuple(-(-size // 2) for size in sizes)}
    own = fixed if Role.KERNEL in operator.by_role else adaptive
    numbers = {p.python_name: own[p.role] for p in operator.numbers if p.role in own}
    case = (line := Line(operator, {"x": x}, numbers)).case()
    chosen = (0, 1, layer) if len(sizes) == 3 else (0, 1)
    return plane_of(case, line.arrays, chosen, seed=0), operator.windows(case.call)


@FORWARDS
def test_pooling_shows_what_each_window_makes_of_its_elements(operator: Operator, tmp_path: Path) -> None:
    sizes = (4, 5, 6)[-len(operator.axes) :]
    x = np.random.default_rng(2).permutation(2 * np.prod(sizes)).reshape(1, 2, *sizes).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for layer in range(4 if len(sizes) == 3 else 1):
        seen, windows = pooled_plane(operator, sizes, str(tmp_path / "x.npy"), layer)
        assert seen.pools
        assert seen.given
        volume = x[0, 1] if seen.layer is None else x[0, 1, layer]
        assert np.array_equal(seen.of_elements, volume)
        shown = words(drawing.picture(seen))
        *deep, rows, columns = windows
        for place in np.ndindex(seen.of_windows.shape):
            d, i, j = place
            layers = [w.places(seen.depths[d]) for w in deep]
            inside = x[0, 1][np.ix_(*layers, rows.places(i), columns.places(j))]
            if operator.averages:
                divisor = seen.divisors[place]
                assert seen.of_windows[place] == pytest.approx(inside.sum(dtype=np.float64) / divisor, rel=1e-6)
                assert f"÷ {divisor}" in shown
            else:
                assert seen.of_windows[place] == inside.max()
            assert drawing.number(seen.of_windows[place]) in shown
            if seen.indices is not None:
                index = int(seen.indices[place])
                assert x[0, 1].flat[index] == inside.max()
                assert f"← {index}" in shown
                assert str(tuple(map(int, np.unravel_index(index, sizes)))) in shown
        for element, shares in seen.shares().items():
            for d, i, j in shares:
                assert element[0] in rows.places(i)
                assert element[1] in columns.places(j)
                if seen.indices is not None:
                    assert seen.of_windows[d, i, j] == volume[element]


@FORWARDS
def test_pooling_without_numbers_is_of_random_ones(operator: Operator) -> None:
    sizes = (4, 5, 6)[-len(operator.axes) :]
    seen, _ = pooled_plane(operator, sizes, ",".join(map(str, (1, 2, *sizes))), 1)
    assert not seen.given
    assert {float(value).is_integer() and 0 <= value < 100 for value in seen.of_elements.ravel()} == {True}
    assert "numbers are random" in " ".join(words(drawing.picture(seen)))


@FORWARDS
def test_maps_of_pooling_show_what_is_given_first(operator: Operator) -> None:
    sizes = (3, 50, 40)[-len(operator.axes) :]
    seen, _ = pooled_plane(operator, sizes, ",".join(map(str, (1, 2, *sizes))), 1)
    drawn = images(drawing.picture(seen))
    given, between, made = drawn
    assert (given, made) == (operator.by_role[Role.INPUT].name, operator.by_role[Role.RESULT].name)
    assert np.array_equal(drawn[given].get_array(), seen.of_elements)
    assert np.array_equal(drawn[made].get_array(), seen.of_windows[0])
    if seen.indices is not None:
        assert between == "windows whose maximum an element is"
        assert np.array_equal(drawn[between].get_array(), seen.arriving())


def panels(figure: Any) -> list[str]:
    return [axes.get_title() for axes in figure.axes if " along " in axes.get_title()]


def test_windows_that_fit_one_panel_are_shown_once() -> None:
    """Up to 12 windows, the first ones are also the last ones."""
    few = drawing.picture(plane(AVG, "1,1,24,24", kernel_size=(2,)))
    assert panels(few) == ["all 12 windows along H", "all 12 windows along W"]
    bars = [axes for axes in few.axes if "windows along" in axes.get_title()]
    assert [len(axes.collections) for axes in bars] == [12, 12]
    one_of_each = drawing.picture(plane(AVG, "1,1,24,26", kernel_size=(2,)))
    assert panels(one_of_each) == [
        "all 12 windows along H",
        "first windows along W (of 13)",
        "last windows along W (of 13)",
    ]
    single = drawing.picture(plane(AVG, "1,1,24,2", kernel_size=(2,)))
    assert panels(single) == ["all 12 windows along H", "the only window along W"]


def test_the_divisor_may_be_given() -> None:
    seen = plane(AVG, "1,1,4,4", kernel_size=(2,), divisor_override=-7)
    assert seen.exactly(seen.shares()[0, 0]) == Fraction(-1, 7)
    assert "divisorOverride" in " ".join(words(drawing.picture(seen)))


BAD = [
    (("--x", "1,1,4,4", "-o", "a.jpeg2000"), 2, "ends in .png, .svg or .pdf"),
    (("--x", "1,1,4,4", "-o", "no/a.png"), 2, "there is no directory no"),
    (("--x", "1,1,4,4", "--plane", "0,1"), 2, "--plane: expected up to 2 numbers below (1, 1), got (0, 1)"),
    (("--x", "1,1,4,4", "--plane", "0,0,0"), 2, "--plane: expected up to 2 numbers"),
    (("--x", "1,1,4,4", "--plane", "x"), 2, "--plane: expected integers"),
    (("--x", "1,1,100000,100000"), 2, "a plane of 100000×100000 with 33333×33333 windows is too large to draw"),
    (("--x", "1,1,2,9000000"), 1, "empty"),
    (("--x", "1,1,3,9000000"), 2, "too large to draw"),
    (("--x", "0,1,4,4"), 2, "nothing to see in an empty tensor"),
    (("--x", "1,1,4,4", "--padding", "2"), 1, "padding-half"),
]


@pytest.mark.parametrize(("line", "code", "said"), BAD, ids=[said for *_, said in BAD])
def test_what_can_not_be_drawn_is_one_clear_line(
    line: tuple[str, ...], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = poolgrad("view", AVG, "--kernel-size", "3", "-o", "a.png", *line, expect=code)
    assert said in (done.stdout if code == 1 else done.stderr)
    assert os.listdir() == []


def test_an_index_outside_its_plane_is_not_drawn(tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.full((1, 1, 1, 1), 77, np.int32))
    call = (
        "view",
        MAX,
        "--x",
        "1,1,4,4",
        "--kernel-size",
        4,
        "--indices",
        tmp_path / "i.npy",
        "-o",
        tmp_path / "a.png",
    )
    assert "77 is outside its plane" in poolgrad(*call, expect=1).stdout
    assert os.listdir(tmp_path) == ["i.npy"]


def test_without_matplotlib_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "poolgrad.cli.drawing")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    done = poolgrad("view", AVG, "--x", "1,1,4,4", "--kernel-size", 2, "-o", "a.png", expect=2)
    assert f"run: {sys.executable} -m pip install matplotlib" in done.stderr


def test_a_crowd_of_windows_is_thinned_out() -> None:
    def frames(seen: Plane) -> int:
        elements = drawing.picture(seen).axes[1]
        cells = (seen.rows.size + seen.rows.before + seen.rows.behind) * (
            seen.columns.size + seen.columns.before + seen.columns.behind
        )
        marks = sum(len(shares) for shares in seen.shares().values() if len(shares) <= 9)
        return len(elements.patches) - cells - marks - 1

    few, many = plane(AVG, "1,1,6,6", kernel_size=(3,)), plane(AVG, "1,1,9,9", kernel_size=(5,), stride=(1,))
    assert frames(few) == 4
    assert frames(many) == 9  # of 25
    assert "25 shares" in words(drawing.picture(many))


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    """Pictures know their size only when they are made; here a limit on the size of files stands for the disk's."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, old[1]))
    try:
        done = poolgrad("view", AVG, "--x", "1,1,4,4", "--kernel-size", 2, "-o", tmp_path / "a.png", expect=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert "can't be written: File too large" in done.stderr
    assert os.listdir(tmp_path) == []
