"""Random operations beside a plain model, for all that no case thought of."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.errors import Unsupported


def beside_a_model(kit: Kit, *, examples: int, steps: int) -> None:
    """Run the model, where hypothesis is installed."""
    try:
        from strongroom.conformance.model import run_model
    except Unsupported as missing:
        raise checks.Unprovable(str(missing)) from None
    run_model(kit.harness, examples=examples, steps=steps, shrink=False)


@case("T1")
def an_engine_answers_as_a_plain_model_does(kit: Kit) -> None:
    beside_a_model(kit, examples=6, steps=20)


@case("T1", slow=True)
def an_engine_answers_as_a_plain_model_does_for_long(kit: Kit) -> None:
    beside_a_model(kit, examples=60, steps=50)
