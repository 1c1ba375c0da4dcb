"""Tests of ``poolgrad.acl`` again, with the C library in its place.

Left out are tests of what C does not have: Python's own objects as arguments, and looks at the inside of the package.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

import acl_helpers
import device
import pytest
from acl import (
    test_acl_device,
    test_acl_events,
    test_acl_memory,
    test_acl_options,
    test_acl_streams,
    test_repeated_runs,
    test_samples,
    test_two_phases,
)
from capi.library import Library

TAKEN: dict[ModuleType, str] = {
    test_samples: "all",
    test_two_phases: "all but test_endless_sequences_end test_strides_that_no_kernel_could_hold",
    test_acl_options: "all but test_levels_are_kept",
    test_repeated_runs: """
        test_other_arguments_are_judged_anew test_another_operator test_another_context test_destroyed_stream
        test_uploads_are_seen_by_known_runs test_a_run_that_fails_at_once_is_reported_when_somebody_asks
    """,
    test_acl_memory: """
        test_frees_that_are_refused test_free_takes_the_start_of_a_live_block_once
        test_there_and_back_through_every_kind test_all_sorts_of_buffers test_into_arrays_and_host_addresses
        test_overlapping_copies_move test_a_freed_block_is_no_place_any_more
        test_host_memory_is_host_memory test_fill_takes_the_low_byte_and_keeps_to_the_range
        test_fills_that_are_refused test_nothing_works_before_init
    """,
    test_acl_streams: """
        test_of_many_threads_that_destroy_one_wins test_nothing_works_before_init
        test_asynchronous_copies_are_checked_at_once
    """,
    test_acl_events: """
        test_an_event_never_recorded_holds_nobody test_nothing_works_before_init_or_without_a_context
    """,
    test_acl_device: """
        test_questions_that_need_no_device_are_answered_at_any_time
        test_a_config_that_cannot_be_read test_a_pipe_as_config_does_not_hang
        test_aclnn_init_brings_the_runtime_up_and_down test_acl_finalize_clears_both
        test_set_and_reset_are_counted test_reset_keeps_device_memory test_run_mode_is_host
        test_the_current_context_belongs_to_the_thread test_a_new_context_becomes_current_and_can_be_left
        test_destroying_the_current_context_leaves_none test_objects_live_outside_of_the_runtime
    """,
}
# Names under which those modules know parts of the documented layer.
PARTS = ("acl", "device", "events", "memory", "messages", "objects", "options", "streams")


def taken_of(module: ModuleType, wanted: str) -> Iterator[tuple[str, Callable[..., None]]]:
    names = [name for name, value in vars(module).items() if name.startswith("test_") and inspect.isfunction(value)]
    listed = wanted.removeprefix("all but").split()
    assert wanted == "all" or set(listed) <= set(names), f"{module.__name__} has no {set(listed) - set(names)}"
    for name in names:
        if wanted == "all" or (name in listed) != wanted.startswith("all but"):
            yield (
                f"test_{module.__name__.removeprefix('acl.test_')}_{name.removeprefix('test_')}",
                getattr(module, name),
            )


for module, wanted in TAKEN.items():
    globals().update(taken_of(module, wanted))


@pytest.fixture(autouse=True)
def c_library_in_place_of_python(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (*TAKEN, acl_helpers, device):
        for part in PARTS:
            if getattr(vars(module).get(part), "__name__", "").startswith("poolgrad.acl"):
                monkeypatch.setattr(module, part, library)
    calls = library.calls
    yield
    assert library.calls > calls, "the test never met the C library"
