"""Printed times in all the forms that training logs use.

Every form is one pattern; which one is tried depends on the first character. Seconds are read as if the clock were UTC
(see `record.Stamp`); a form without a year counts from 1970, one without a date has no seconds.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from triage.core.lazy import lazy
from triage.core.logs.record import Stamp

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], start=1
    )
}
_DAYS = frozenset(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
_EPOCH = date(1970, 1, 1).toordinal()

_CLOCK = r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?(?!\d)"
_MONTH = r"(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY_NAME = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ZONE = r"(?P<z>Z\b| ?[+-]\d\d:?\d\d(?![\d.-]|:\d)| UTC\b| GMT\b)?"
_HALF = r"(?: (?P<ap>[AP]M)\b)?"

_ISO = lazy(rf"(?P<y>\d{{4}})[-/](?P<m>\d\d)[-/](?P<d>\d\d)[-T _]{_CLOCK}{_HALF}{_ZONE}")
_US = lazy(rf"(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>\d{{4}}|\d\d)(?!\d),? {_CLOCK}{_HALF}")
_MONTH_DAY = lazy(rf"(?P<m>\d\d)-(?P<d>\d\d) {_CLOCK}")
_TIME = lazy(_CLOCK)
_GLOG = lazy(rf"[EWIFCDV](?P<md>\d{{3,4}}) {_CLOCK}")
_SYSLOG = lazy(rf"{_MONTH} (?P<d>[ \d]\d) {_CLOCK}(?: (?P<y>\d{{4}})\b)?")
_DATE = lazy(
    rf"{_DAY_NAME} (?:{_MONTH} (?P<d>[ \d]\d) {_CLOCK}(?: (?P<ap>[AP]M))?(?P<z> [A-Z]{{2,5}})? (?P<y>\d{{4}})\b"
    rf"|(?P<d2>\d\d) (?P<mon2>[A-Z][a-z][a-z]) (?P<y2>\d{{4}}) (?P<h2>\d\d):(?P<mi2>\d\d):(?P<s2>\d\d)(?: (?P<ap2>[AP]M))?(?: (?P<z2>[A-Z]{{2,5}}))?)"
)
_BOOT = lazy(r" {0,6}\d{1,10}\.\d{6}")
_NUMBER = lazy(r"(\d{10})(?:\.(\d{1,9})|(\d{3}))?(?!\d)")


def find_stamp(text: str, pos: int = 0) -> tuple[Stamp, int] | None:
    """The stamp that begins exactly at `pos`, and where it ends; brackets around it belong to it."""
    if text[pos : pos + 1] == "[":
        return _bracketed(text, pos)
    form = _form(text[pos : pos + 5])
    match = None if form is None else form.match(text, pos)
    if form is None or match is None:
        return None
    stamp = _build(form, match[0], match.groups())
    return None if stamp is None else (stamp, match.end())


def _form(head: str) -> re.Pattern[str] | None:
    """The one pattern that a text with these first five characters can match."""
    if len(head) < 5:
        return None
    first = head[0]
    if first.isdecimal():
        if head[4] in "-/":
            return _ISO
        return {":": _TIME, "/": _US, "-": _MONTH_DAY}.get(head[2])
    if head[1].isdecimal():
        return _GLOG if first in "EWIFCDV" else None
    if head[3] == " ":
        return _SYSLOG if head[:3] in _MONTHS else _DATE if head[:3] in _DAYS else None
    return None


def parse_stamp(text: str) -> Stamp | None:
    """The stamp that is the whole of `text`: one of the forms above, or seconds or milliseconds since 1970."""
    text = text.strip()
    found = find_stamp(text)
    if found is not None and found[1] == len(text):
        return found[0]
    match = _NUMBER.fullmatch(text)
    return None if match is None else epoch_stamp(text)


def epoch_stamp(digits: str) -> Stamp | None:
    """Ten digits are seconds since 1970, thirteen are milliseconds."""
    match = _NUMBER.fullmatch(digits)
    if match is None:
        return None
    seconds, fraction, milli = match.groups()
    if milli:
        return Stamp(digits, int(seconds) + int(milli) / 1000, resolution=1e-3, utc=True)
    return Stamp(digits, float(digits), resolution=_resolution(fraction), utc=True)


def _bracketed(text: str, pos: int) -> tuple[Stamp, int] | None:
    first = text[pos + 1 : pos + 2]
    if first == "[":
        return None
    if first.isdecimal() or first == " ":
        boot = _BOOT.match(text, pos + 1)
        if boot is not None and text[boot.end() : boot.end() + 1] == "]":
            epoch = epoch_stamp(boot[0].strip())
            return epoch or Stamp(boot[0].strip(), None), boot.end() + 1
    found = find_stamp(text, pos + 1)
    if found is None or text[found[1] : found[1] + 1] != "]":
        return None
    return found[0], found[1] + 1


_Groups = tuple[str | None, ...]


@lru_cache(maxsize=4096)
def _build(form: re.Pattern[str], text: str, parts: _Groups) -> Stamp | None:
    """Remembered, for neighbouring lines and the ranks of a job have the same stamps; they then share one value."""
    if form is _ISO:
        return _iso(text, parts)
    groups = dict(zip(form.groupindex, parts, strict=True))
    if groups.get("d2"):
        groups = {name: groups.get(name + "2") for name in ("d", "mon", "y", "h", "mi", "s", "ap", "z")} | {
            "f": None
        }
    clock = _clock(groups)
    if clock is None:
        return None
    fraction = groups["f"]
    day = _day(groups)
    if day is not None and day < 0:
        return None
    return Stamp(
        text,
        None if day is None else day * 86400 + clock,
        has_year=bool(groups.get("y")),
        resolution=_resolution(fraction),
        utc=_is_utc(groups.get("z") or ""),
    )


def _iso(text: str, parts: _Groups) -> Stamp | None:
    """The usual form by itself: most stamped lines have it, and groups by name cost more than all the rest."""
    *numbers, fraction, half, zone = parts
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    clock = _seconds(hour, minute, second, fraction, half)
    days = _days(year, month, day)
    if clock is None or days < 0:
        return None
    utc = zone is not None and _is_utc(zone)
    return Stamp(text, days * 86400 + clock, resolution=_resolution(fraction), utc=utc)


def _is_utc(zone: str) -> bool:
    zone = zone.strip()
    return zone in ("Z", "UTC", "GMT") or zone.strip("+-").replace(":", "") == "0000"


def _clock(groups: dict[str, str | None]) -> float | None:
    hour, minute, second = (int(groups[name] or 0) for name in ("h", "mi", "s"))
    return _seconds(hour, minute, second, groups["f"], groups.get("ap"))


def _seconds(hour: int, minute: int, second: int, fraction: str | None, half: str | None) -> float | None:
    """Seconds of the day."""
    if hour > 23 or minute > 59 or second > 60:
        return None
    if half is not None and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "PM" else 0)
    return hour * 3600 + minute * 60 + second + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def _day(groups: dict[str, str | None]) -> int | None:
    """Days since 1970, None where no date is printed, negative where it is no date (or one before 1970)."""
    joined = groups.get("md")
    if joined:
        month, day = divmod(int(joined), 100)
    elif groups.get("d"):
        name = groups.get("mon")
        number = _MONTHS.get(name, 0) if name else int(groups.get("m") or 0)
        month, day = number, int(groups["d"] or 0)
    else:
        return None
    year = groups.get("y")
    return _days(None if not year else int(year) + (2000 if len(year) == 2 else 0), month, day)


@lru_cache(maxsize=4096)
def _days(year: int | None, month: int, day: int) -> int:
    try:
        if year is None and (month, day) == (2, 29):
            return date(1970, 3, 1).toordinal() - _EPOCH
        return date(year or 1970, month, day).toordinal() - _EPOCH
    except ValueError:
        return -1


def _resolution(fraction: str | None) -> float:
    return float(10.0 ** -len(fraction)) if fraction else 1.0
