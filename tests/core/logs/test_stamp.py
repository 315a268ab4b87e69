"""Every form of printed time."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.core.logs.stamp import epoch_stamp, find_stamp, parse_stamp


def at(
    year: int, month: int, day: int, hour: int, minute: int, second: int, *, fraction: float = 0.0
) -> float:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() + fraction


@pytest.mark.parametrize(
    ("text", "seconds", "has_year", "resolution", "utc"),
    [
        ("E1201 10:00:00.123456789", at(1970, 12, 1, 10, 0, 0, fraction=0.123456789), False, 1e-9, False),
        ("E321 02:07:08.4", at(1970, 3, 21, 2, 7, 8, fraction=0.4), False, 0.1, False),
        ("W0325 10:34:07.578000", at(1970, 3, 25, 10, 34, 7, fraction=0.578), False, 1e-6, False),
        ("2026-12-01 10:00:00,123", at(2026, 12, 1, 10, 0, 0, fraction=0.123), True, 1e-3, False),
        ("2026-12-01T10:00:00.123+0000", at(2026, 12, 1, 10, 0, 0, fraction=0.123), True, 1e-3, True),
        ("2026-12-01T10:00:00.123Z", at(2026, 12, 1, 10, 0, 0, fraction=0.123), True, 1e-3, True),
        ("2026-12-01T10:00:00+02:00", at(2026, 12, 1, 10, 0, 0), True, 1.0, False),
        ("2026-12-01_10:03:07", at(2026, 12, 1, 10, 3, 7), True, 1.0, False),
        ("[2024-02-09 08:48:08,092]", at(2024, 2, 9, 8, 48, 8, fraction=0.092), True, 1e-3, False),
        ("Dec  1 10:00:00", at(1970, 12, 1, 10, 0, 0), False, 1.0, False),
        ("Feb 29 10:00:00", at(1970, 3, 1, 10, 0, 0), False, 1.0, False),
        ("[Tue Dec  1 10:00:00 2026]", at(2026, 12, 1, 10, 0, 0), True, 1.0, False),
        ("[12345.678901]", None, True, 1e-6, False),
        ("10:00:00", None, False, 1.0, False),
        ("10:00:00.123", None, False, 1e-3, False),
        ("2026/12/01 10:00:00", at(2026, 12, 1, 10, 0, 0), True, 1.0, False),
        ("12/01/2026 10:00:00", at(2026, 12, 1, 10, 0, 0), True, 1.0, False),
        ("03/17/23 20:01:40", at(2023, 3, 17, 20, 1, 40), True, 1.0, False),
        ("08-19 20:31:50", at(1970, 8, 19, 20, 31, 50), False, 1.0, False),
        ("1683152345678", at(2023, 5, 3, 22, 19, 5, fraction=0.678), True, 1e-3, True),
        ("1683152345", at(2023, 5, 3, 22, 19, 5), True, 1.0, True),
        ("Tue Dec  1 10:00:00 UTC 2026", at(2026, 12, 1, 10, 0, 0), True, 1.0, True),
        ("Tue Dec  1 10:00:00 PM CET 2026", at(2026, 12, 1, 22, 0, 0), True, 1.0, False),
        ("Tue 01 Dec 2026 10:00:00 AM UTC", at(2026, 12, 1, 10, 0, 0), True, 1.0, True),
        ("2023-05-03 11:29:13 PM", at(2023, 5, 3, 23, 29, 13), True, 1.0, False),
        ("2023-05-03 12:29:13 AM", at(2023, 5, 3, 0, 29, 13), True, 1.0, False),
    ],
)
def test_form(text: str, seconds: float | None, has_year: bool, resolution: float, utc: bool) -> None:
    stamp = parse_stamp(text)
    assert stamp is not None
    assert stamp.text == text.strip("[]")
    assert stamp.seconds == (None if seconds is None else pytest.approx(seconds, abs=1e-6))
    assert (stamp.has_year, stamp.utc) == (has_year, utc) or stamp.seconds is None
    assert stamp.resolution == pytest.approx(resolution)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-13-01 10:00:00",
        "2026-12-01 25:00:00",
        "E1301 10:00:00.1",
        "E0001 10:00:00.1",
        "2026-12-01",
        "00:11:22:33",
        "1e5",
        "123456",
        "12345678901",
        "error 10:00:00",
        "[1/3658]",
        "May be",
        "Sunday 10:00:00",
    ],
)
def test_no_stamp(text: str) -> None:
    assert parse_stamp(text) is None


def test_stamp_is_found_only_where_it_begins() -> None:
    text = "at 2026-12-01 10:00:00 it fell"
    found = find_stamp(text, 3)
    assert found is not None
    assert text[found[1] :] == " it fell"
    assert find_stamp(text, 0) is None


def test_epoch_of_other_lengths_is_no_time() -> None:
    assert epoch_stamp("123456789012") is None
    assert epoch_stamp("1683152345.25") is not None


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[\[EWJDT0-9][0-9 :./,TZ+-]{0,40}\]?")))
def test_no_text_crashes(text: str) -> None:
    for pos in range(min(4, len(text) + 1)):
        found = find_stamp(text, pos)
        assert found is None or pos < found[1] <= len(text)
    parse_stamp(text)


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2099, 1, 1)))
def test_what_was_printed_is_read_back(moment: datetime) -> None:
    stamp = parse_stamp(moment.strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert stamp is not None
    assert stamp.seconds == pytest.approx(moment.replace(tzinfo=UTC).timestamp(), abs=1e-5)
