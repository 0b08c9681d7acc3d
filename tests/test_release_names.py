"""Public names are loaded when they are first asked for, and nothing else changes by that."""

import gc

import pytest

import eligibility


@pytest.mark.parametrize("collects", [True, False])
def test_loading_a_name_leaves_garbage_collection_as_it_was(
    collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gc.enable if collects else gc.disable)()
    try:
        assert eligibility.__getattr__("parse") is eligibility.parse
        assert gc.isenabled() is collects
        monkeypatch.setitem(eligibility._PLACES, "nowhere", "nowhere")
        with pytest.raises(ModuleNotFoundError):
            eligibility.__getattr__("nowhere")
        assert gc.isenabled() is collects
    finally:
        gc.enable()
