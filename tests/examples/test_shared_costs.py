"""The example with Python tools: imported with its requirement, called through the gateway, and given away."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from examples.shared_costs.costs.ledger import Expense
from examples.shared_costs.costs.looking import Payment, Settlement, settlement
from hypothesis import given
from hypothesis import strategies as st
from tests.e2e.served import Served, environment, served, warm_pegboard
from tests.examples.boards import DEADLINE, EXAMPLES, guest, imported, statuses, there_and_back, words_of
from tests.examples.repacked import repacked

EXAMPLE = EXAMPLES / "shared_costs"
PEOPLE = ("Ann", "Bob", "Cyd")
DINNER = {"what": "Dinner", "amount": "30.50", "paid_by": "Ann", "shared_by": [*PEOPLE], "day": "2030-01-30"}
TAXI = {"what": "Taxi <home>", "amount": "12.10", "paid_by": "Bob", "shared_by": ["Ann", "Bob"], "day": "2030-01-31"}


def paid(amount: str, by: str, *shared_by: str) -> Expense:
    return Expense(what="x", amount=Decimal(amount), paid_by=by, shared_by=[*shared_by], day=date(2030, 1, 1))


def test_a_cent_that_cannot_be_shared_is_not_lost() -> None:
    assert settlement([paid("10", "Ann", "Ann", "Bob", "Cyd")]) == Settlement(
        [Payment("Bob", "Ann", Decimal("3.33")), Payment("Cyd", "Ann", Decimal("3.33"))],
        {"Ann": Decimal("6.66"), "Bob": Decimal("-3.33"), "Cyd": Decimal("-3.33")},
    )
    assert settlement([]) == Settlement([], {})


@given(
    st.lists(
        st.builds(
            lambda cents, by, shared: paid(f"{cents // 100}.{cents % 100:02}", by, *shared),
            st.integers(1, 10**7),
            st.sampled_from(PEOPLE),
            st.lists(st.sampled_from((*PEOPLE, "Dee")), min_size=1, max_size=5),
        )
    )
)
def test_after_the_payments_everybody_is_even(known: list[Expense]) -> None:
    found = settlement(known)
    left = dict(found.balances)
    for payment in found.payments:
        assert payment.amount > 0
        left[payment.debtor] += payment.amount
        left[payment.creditor] -= payment.amount
    assert {*left.values()} <= {Decimal(0)}
    assert len(found.payments) < max(1, len(left))


def packages_at_hand(home: Path) -> None:
    """As a person without a network sets up pip and uv: what the example requires lies in a folder."""
    wheels = repacked(home / "wheels", "markdown-it-py", "mdurl")
    for file, text in {
        "pip/pip.conf": f"[global]\nno-index = true\nfind-links = {wheels}\n",
        "uv/uv.toml": f'no-index = true\nfind-links = ["{wheels}"]\n',
    }.items():
        (home / ".config" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / ".config" / file).write_text(text, "utf-8")


async def keep_secret(gateway: Served, name: str, value: str) -> None:
    """Typed into a prompt or piped: on no command line."""
    words = [*warm_pegboard(), "toolset", "secrets", "set", "shared-costs", name, "--data-dir", str(gateway.data_dir)]
    await anyio.run_process(words, input=value.encode(), env=environment(gateway.data_dir))


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.timeout(2 * DEADLINE)
@pytest.mark.behaviour(
    "toolsets.manifest_python_tools", "toolsets.secrets", "toolsets.export_round_trip", "providers.python_environment"
)
async def test_the_python_example_is_imported_called_and_given_away(tmp_path: Path) -> None:
    with anyio.fail_after(DEADLINE):
        (tmp_path / "data").mkdir()
        packages_at_hand(tmp_path / "data")
        async with served(tmp_path, {}) as gateway:
            found = await imported(gateway, EXAMPLE)
            assert found["secrets"] == [{"name": "STATEMENT_KEY", "set": False}]
            await keep_secret(gateway, "STATEMENT_KEY", "a key of the tests")
            assert await statuses(gateway, "shared-costs") == dict.fromkeys(
                [
                    "shared-costs:add_expense",
                    "shared-costs:add_expenses",
                    "shared-costs:list_expenses",
                    "shared-costs:settle_up",
                    "shared-costs:statement",
                    "shared-costs:check_statement",
                    "shared-costs:start_over",
                ],
                "open",
            )
            await called(gateway)
            (built,) = (tmp_path / "data" / "environments").glob("[!.]*")
            assert [*built.glob("lib/*/site-packages/markdown_it")] != []
            assert [*(tmp_path / "data" / "workspaces").rglob("*.jsonl")] == []
            await there_and_back(gateway, "shared-costs", EXAMPLE, tmp_path)


async def called(gateway: Served) -> None:
    async with guest(gateway) as one:
        tools = {tool.name: tool for tool in (await one.client.list_tools()).tools}
        asked_for: Any = tools["add_expense"].input_schema
        assert asked_for["required"] == ["what", "amount", "paid_by", "shared_by"]
        assert {*asked_for["properties"]} == {"what", "amount", "paid_by", "shared_by", "kind", "day"}
        assert (await one.answer("add_expense", kind="food", **DINNER))["kind"] == "food"

        bad = await one.call("add_expense", **{**DINNER, "amount": -1, "kind": "drink"})
        assert bad.is_error
        assert all(name in words_of(bad) for name in ("amount", "kind"))

        told: list[tuple[float, float | None, str | None]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        added = await one.client.call_tool("add_expenses", {"expenses": [TAXI]}, progress_callback=heard)
        assert (added.structured_content, told) == ({"count": 1, "total": "12.10"}, [(1, 1, "Taxi <home>")])

        listed = await one.answer("list_expenses", order="amount")
        assert [each["what"] for each in listed["result"]] == ["Dinner", "Taxi <home>"]
        assert await one.answer("list_expenses", kind="fun") == {"result": []}
        assert await one.answer("settle_up") == {
            "payments": [
                {"debtor": "Cyd", "creditor": "Ann", "amount": "10.16"},
                {"debtor": "Bob", "creditor": "Ann", "amount": "4.12"},
            ],
            "balances": {"Ann": "14.28", "Bob": "-4.12", "Cyd": "-10.16"},
        }

        page = await one.answer("statement", format="html")
        assert "<td>Taxi &lt;home&gt;</td>" in page["text"]
        assert "<li>Bob owes Ann 4.12</li>" in page["text"]
        assert await one.answer("check_statement", **page) == {"result": True}
        assert await one.answer("check_statement", **{**page, "text": f"{page['text']} "}) == {"result": False}

        assert one.asked == []
        assert await one.answer("start_over") == {"result": 2}
        assert len(one.asked) == 1
        assert await one.answer("list_expenses") == {"result": []}
