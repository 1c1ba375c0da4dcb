"""Sizes by which plans cut work into pieces. They decide how fast a result comes, never what it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Bytes, unless a line says otherwise. The defaults are those of a machine whose caches nobody can read."""

    first_cache: int = 32 << 10  # of a core
    second_cache: int = 1 << 20  # of a core
    last_cache: int = 32 << 20  # of all cores together
    # Larger ones are those of whole sockets, which others share, and farther away.
    largest_near_cache: int = 64 << 20

    # All parts' scratch together stays well below 64 MB.
    total_budget: int = 32 << 20
    # Where each thread would have less to do than takes so many nanoseconds, handing work over costs more than it
    # saves. Calls in a row that take one thread 2 to 3 us took two of them 1.3 to 1.7 times as long, of 5 us as long,
    # and of 7 to 9 us 0.8 of the time. A worker that has to be woken first comes too late for less than several times
    # as much, and then costs the caller little more than the call for it.
    time_of_part: int = 2500
    windows_at_once: int = 4096  # whose places or quotients are kept, in numbers

    # Pooling itself, in columns: of the input and of the result that are worked on at once; and in rows of windows that
    # are kept at most: with more of them each is made, added and forgotten. With an eighth of these, windows that hold
    # more take 1.3 times as long, and single ones 17 times. Where windows hold several layers, rows of each are wanted
    # in turn: with few at once 8x64x8x28x28 takes 0.37 of the time.
    chunk: int = 512
    chunk_of_layers: int = 16
    tile: int = 1024
    results: int = 256
    rows_kept: int = 256
    rows_of_planes: int = 1024  # that are pooled as a whole, some at a time
    # Processors foresee pixels of few channels. Longer ones, of inputs that no cache of a core holds, are asked for so
    # many bytes ahead: windows of 4 over 188 channels take 0.55 of the time, and random ones over pixels of 128 to 512
    # bytes 0.87 in the mean, single ones 0.3 to 2.2. Of windows of many pixels, and of pixels that are longer still,
    # the next channels are asked for: planes of 16 x 16 over 3279 channels take 0.6 of the time, windows of 2 over 2048
    # channels 0.8 to 0.9. A tenth of that distance takes as long as none.
    long_pixel: int = 128
    ahead: int = 4096
    many_pixels: int = 32
    channels_ahead: int = 1024
    # Whole planes, that is rows in turn, are asked for so many bytes ahead, and no less than sixteen rows: where caches
    # hold them, and where they do not. Near ones take 0.75 to 1 of the time, others 0.6 to 1, compared with the other
    # distance or none.
    ahead_of_caches: int = 2048
    ahead_of_memory: int = 16384
    # Places of larger planes need 64 bits, as float64 has them; in elements.
    largest_plane: int = 2**31 - 1

    # Gradients of averages. Columns of a row that are worked on at once, rows that are expanded together (in numbers;
    # what is made of them should stay in the first-level cache), and strides that constant shuffles lay out where few
    # windows hold an element.
    widest_tile: int = 8192
    narrowest_tile: int = 64
    batch: int = 2048
    shuffled_stride: int = 4
    # Channels side by side that are worked on together at most, bytes of all their slots, and channels from which on
    # a row is cut into blocks of them rather than into tiles. Tiles of single columns take up to three times as long:
    # with blocks from 1024 channels on random calls take 1.07 times as long, and single ones 2.6 times. With half the
    # bytes those that need them take 1.15 times as long.
    most_channels: int = 4096
    bytes_of_pixels: int = 1 << 20
    many_channels: int = 256
    # Layers that are made in scratch: bytes of all slots for rows of them, and the fewest rows. A quarter of that takes
    # a tenth longer, a sixteenth a third.
    band_of_layers: int = 1 << 18
    rows_of_layers: int = 4
    # Columns from which on rows of the result are written while the last of their layers is made: with windows of 3 in
    # 0.8 to 0.95 of the time with a stride of 1, and beyond the caches with strides of 2. Shorter rows take as long.
    joined_from: int = 40
    # Of results up to twice as large as caches, a beginning of so many bytes is not written past them: by one part, and
    # by all. Threads share the way past them, so two take 0.8 to 0.9 of the time if at most half as much is read as is
    # written. One alone takes 0.95 of it if a ninth is read, and no less if it is a quarter.
    kept_by_part: int = 12 << 20
    kept_in_all: int = 24 << 20

    # Gradients of maxima: larger planes of 16-bit numbers are made in bands of about so many elements and gradients,
    # which are float32 until they are written. Half as many take up to a tenth longer; twice as many fill the
    # first-level cache, and take 1.25 times as long (windows of 3 with strides of 1 over 56 x 56).
    band: int = 2600
    # Rows that a band shares with the next one are moved, so it has so many times as many. Windows of 7 with a stride
    # of 2 over rows of 174 take two thirds of the time that way, and of 178 over as many rows a tenth.
    shared_by_band: int = 4
    # Bands of channels side by side, which shall stay in the second-level cache with what else is there.
    band_of_channels: int = 1 << 18
    # Small planes are cleared and filled some at a time, as many as take so many bytes: gradients follow just behind
    # the zeros. Half as many take up to a tenth longer, twice as many up to a sixth (7 x 7 planes).
    batch_bytes: int = 1 << 12
    # Channels side by side that four pixels ask for at once.
    channels_at_once: int = 512
    # The fewest that a thread scatters of an image: two of them took 1.3 to 4 times as long as one alone for 67 to 256.
    channels_of_a_part: int = 256
    # Bytes of sums of halves: those of the channels of a cache line are made together if they take no more than that.
    most_sums: int = 1 << 24

    @property
    def stream_from(self) -> int:
        """Outputs that no cache will hold are written past it."""
        return self.last_cache

    @property
    def stream_averages_from(self) -> int:
        """The same of gradients of averages, which write most of what they move, in whole cache lines. Where 260 MB are
        told of they take 0.8 of the time past the caches from 12 MB on, and 0.4 of it with 205 MB; maxima of 90 MB, and
        planes that are just filled, 1.5 times as long and more."""
        return self.near_bytes

    @property
    def stream_rows_from(self) -> int:
        """The same of such that are made in scratch first. With such a cache 51 MB take 1.4 to 1.8 times as
        long past the caches, and 205 MB half as long."""
        return self.last_cache if self.has_near_cache else 2 * self.largest_near_cache

    @property
    def stream_planes_from(self) -> int:
        """The same of eight planes that are written in turn. With such a cache planes of 28 x 28, 26 MB in all, take
        1.5 times as long past the caches, and of 112 x 112, 51 MB, 0.8 of the time."""
        return self.last_cache if self.has_near_cache else self.largest_near_cache // 2

    @property
    def near_bytes(self) -> int:
        """What the caches near a core hold."""
        return self.last_cache if self.has_near_cache else 4 * self.second_cache

    @property
    def has_near_cache(self) -> bool:
        return self.last_cache <= self.largest_near_cache

    @property
    def part_budget(self) -> int:
        """One part's scratch should stay in a core's second-level cache."""
        return self.second_cache

    def budget(self, parts: int) -> int:
        """Bytes of scratch that each of so many parts may have."""
        return min(self.part_budget, self.total_budget // parts)


# Where Linux says what caches the first core has.
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# Sizes that a machine may report and that are believed; others are virtual machines' guesses.
_BELIEVED = {1: (8 << 10, 1 << 20), 2: (128 << 10, 16 << 20), 3: (1 << 20, 1 << 30)}
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def machine_limits() -> Limits:
    """The limits of this machine: its caches, as far as it tells."""
    names = {1: "first_cache", 2: "second_cache", 3: "last_cache"}
    return replace(Limits(), **{names[level]: size for level, size in cache_sizes(_CACHES).items()})


def cache_sizes(folder: Path) -> dict[int, int]:
    """Bytes of the caches for data, by level, as the files of that folder tell."""
    sizes: dict[int, int] = {}
    try:
        for entry in sorted(folder.glob("index*")):
            if (entry / "type").read_text().strip() == "Instruction":
                continue
            level, size = int((entry / "level").read_text()), (entry / "size").read_text().strip()
            number = int(size.rstrip("KMG")) * _UNITS.get(size[-1:], 1)
            least, most = _BELIEVED.get(level, (1, 0))
            if least <= number <= most:
                sizes[level] = number
    except (OSError, ValueError):  # no such files, or nothing that could be a size
        pass
    return sizes
