"""Names replaced by others, each always by the same: `node0003`, `user0001`, `name0002`, `site01.example`.

All places are found in the line as it was, so that no replacement is replaced again, and an order that names had is kept.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import ahocorasick_rs

from triage.bundle.identities import DOMAIN, HOST, OTHER, USER, Identities, folders_to_replace, stated
from triage.bundle.vocabulary import PUBLIC_HOSTS, PUBLIC_OWNERS, Vocabulary
from triage.core.events.ranges import expand_hosts
from triage.core.lazy import lazy

_PATH = lazy(r"(?<![\w.])~?(?:\.{0,2}/)?[\w.@+=~,-]{0,200}(?:/[\w.@+=~,-]{1,200}){1,40}/?")
_URL = lazy(r"\bhttps?://(?P<host>[\w.-]{1,253})(?P<port>:\d{1,5})?(?P<path>/[^\s\"'<>)\]]{0,2000})?")
_REMOTE = lazy(r"\bgit@(?P<host>[\w.-]{1,253}):(?P<path>[\w./-]{1,300})")
_LIST = lazy(r"[A-Za-z][\w.-]{0,60}\[\d[\d,-]{0,4000}\][\w.-]{0,60}")
_IP4 = lazy(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
_IP6 = lazy(r"(?<![\w:.])(?=[0-9a-fA-F:]{0,39}\d)[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_MAC = lazy(r"(?<![\w:-])[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2}){4}(?![\w:-])")
_NUMBER = lazy(r"\d+")
_ESCAPED = ("\\n", "\\t", "\\r")

Span = tuple[int, int, str]
"""Start, end, and what takes the place."""


class Pseudonyms:
    """Replaces what was found, in any text of the same bundle."""

    def __init__(self, identities: Identities) -> None:
        self._vocabulary: Vocabulary = identities.vocabulary
        found = identities.found
        self._names: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        domains = _numbered(found[DOMAIN], "site{:02d}.example")
        users = {name for name in found[USER] if name.lower() not in {h.lower() for h in found[HOST]}}
        others = found[OTHER] - found[USER] - found[HOST]
        shorts = _hosts({host.partition(".")[0] for host in found[HOST]})
        for table in (_fitted_all(others, "name"), _fitted_all(users, "user"), domains, shorts):
            self._names |= {name.lower(): new for name, new in table.items()}
        for host in found[HOST]:
            short, _, domain = host.partition(".")
            if domain:
                self._names[host.lower()] = f"{shorts[short.lower()]}.{domains[domain.lower()]}"
        self._others = frozenset(name.lower() for name in others)
        """Folders and the like, which may also be parts of a function's name: `opal_init` in `/src/opal/`."""
        self._searched = [name for name in self._names if self._is_global(name)]
        self._automaton = ahocorasick_rs.AhoCorasick(self._searched, store_patterns=False)

    def replace(self, text: str) -> str:
        """The text with every name and address replaced."""
        spans = sorted(self._spans(text), key=lambda span: (span[0], -span[1]))
        if not spans:
            return text
        out: list[str] = []
        done = 0
        for start, end, new in spans:
            if start >= done:
                out += (text[done:start], new)
                done = end
        return "".join([*out, text[done:]])

    def _is_global(self, name: str) -> bool:
        """Whether it is replaced wherever it stands: a word that logs use is only where it is stated to be a name."""
        return not self._vocabulary.is_word(name) and len(name) > 1 and not name.isdecimal()

    def _spans(self, text: str) -> Iterator[Span]:
        if not text:
            return
        if "/" in text:
            yield from self._of_paths(text)
        yield from self._of_tokens(text)
        for kind, start, end in stated(text, self._vocabulary):
            new = self._stated(kind, text[start:end])
            if new is not None:
                yield start, end, new
        if "[" in text:
            for match in _LIST.finditer(text):
                if (new := self._list(match[0])) != match[0]:
                    yield match.start(), match.end(), new
        if text.count(".") > 2:
            for match in _IP4.finditer(text):
                yield match.start(), match.end(), self._ip4(match[0])
        if text.count(":") > 1:
            for match in _MAC.finditer(text):
                yield match.start(), match.end(), self._address(match[0], "02:00:00:00:{:02x}:{:02x}")
            for match in _IP6.finditer(text):
                if (new := self._ip6(match[0])) != match[0]:
                    yield match.start(), match.end(), new

    def _of_tokens(self, text: str) -> Iterator[Span]:
        folded = _folded(text)
        for which, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True):
            before, after = folded[start - 1 : start], folded[end : end + 1]
            if before.isalnum() and text[start - 2 : start] not in _ESCAPED:
                continue
            if not after.isalnum():
                name = self._searched[which]
                if name not in self._others or "_" not in (before, after):
                    yield start, end, self._names[name]

    def _stated(self, kind: str, text: str) -> str | None:
        """What takes the place of a name that is stated here, also where it is a common word."""
        bare = text.rstrip(".,-" if kind == HOST else ".,-[]")
        if kind == HOST and ("[" in bare or "," in bare):
            return self._list(bare) + text[len(bare) :]
        bare = bare.rstrip("]")
        new = self._names.get(bare.lower())
        return None if new is None else new + text[len(bare) :]

    def _list(self, text: str) -> str:
        names = expand_hosts(text)
        if not any(name.lower() in self._names for name in names):
            return text
        return _compressed([self._names.get(name.lower(), name) for name in names])

    def _of_paths(self, text: str) -> Iterator[Span]:
        if "://" in text:
            for match in _URL.finditer(text):
                yield match.start(), match.end(), self._url(match)
        if "git@" in text:
            for match in _REMOTE.finditer(text):
                host, path = self._host(match["host"]), self._repository(match["path"])
                yield match.start(), match.end(), f"git@{host}:{path}"
        for match in _PATH.finditer(text):
            yield match.start(), match.end(), self._path(match[0])

    def _path(self, path: str) -> str:
        own: set[str] = set()
        named: set[int] = set()
        if path[0] in "/~":
            own = set(folders_to_replace(path, self._vocabulary))
            named = {start for _, start, _ in stated(path, self._vocabulary)}
        out, at = [], 0
        for part in path.split("/"):
            mark = "~" if part.startswith("~") else ""
            is_own = part in own or at + len(mark) in named
            out.append(mark + self._folder(part.removeprefix(mark), is_own))
            at += len(part) + 1
        return "/".join(out)

    def _folder(self, part: str, own: bool) -> str:
        known = self._names.get(part.lower())
        if known is not None and (own or self._is_global(part)):
            return known
        if own:
            return self._unknown(part, "dir")
        spans = sorted(self._of_tokens(part), key=lambda span: (span[0], -span[1]))
        out, done = "", 0
        for start, end, new in spans:
            if start >= done:
                out, done = out + part[done:start] + new, end
        return out + part[done:]

    def _url(self, match: re.Match[str]) -> str:
        host = self._host(match["host"])
        path = match["path"] or ""
        scheme = match[0].partition("://")[0]
        if match["host"].lower() in PUBLIC_HOSTS:
            path = self._repository(path) if match["host"].lower() in _HOLDING_REPOSITORIES else path
        else:
            path = self._path(path) if path else ""
        return f"{scheme}://{host}{match['port'] or ''}{path}"

    def _host(self, host: str) -> str:
        if host.lower() in PUBLIC_HOSTS:
            return host
        return self._names.get(host.lower()) or self.replace(host)

    def _repository(self, path: str) -> str:
        """`owner/name` of a repository; those of well-known owners stay."""
        owner, *rest = path.lstrip("/").split("/")
        if owner.lower() in PUBLIC_OWNERS or not owner:
            return path
        lead = "/" if path.startswith("/") else ""
        names = [self._names.get(part.lower()) or self._unknown(part, "repo") for part in (owner, *rest[:1])]
        return lead + "/".join([*names, *(self._folder(part, False) for part in rest[1:])])

    def _ip4(self, text: str) -> str:
        if any(int(part) > 255 for part in text.split(".")) or text.startswith(("127.", "0.0.", "255.255.")):
            return text
        return self._address(text, "10.0.{}.{}")

    def _ip6(self, text: str) -> str:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        if address.is_loopback or address.is_unspecified:
            return text
        return self._address(text, "fd00::{:x}:{:x}")

    def _unknown(self, text: str, prefix: str) -> str:
        """The same for the same folder, one that no line states apart from its path."""
        return self._once(text, prefix, lambda number: _fitted(prefix, number, len(text)))

    def _address(self, text: str, form: str) -> str:
        return self._once(text, form, lambda number: form.format(number // 250, number % 250))

    def _once(self, text: str, kind: str, make: Callable[[int], str]) -> str:
        """What takes the place of a text, the same whenever it is met."""
        key = f"{kind}\0{text.lower()}"
        if key not in self._addresses:
            number = self._counts[kind] = self._counts[kind] + 1
            self._addresses[key] = make(number)
        return self._addresses[key]


_HOLDING_REPOSITORIES = frozenset({"github.com", "huggingface.co", "wandb.ai", "api.wandb.ai"})


def _folded(text: str) -> str:
    """Lower case, as long as the text, and without bytes that are no text."""
    if text.isascii():
        return text.lower()
    return "".join(c.lower() if c.isascii() else "?" if "\ud800" <= c <= "\udfff" else c for c in text)


def _fitted_all(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Numbers in natural order, each name as long as what it stands for where that can be."""
    order = sorted({name.lower() for name in names}, key=_natural)
    return {name: _fitted(prefix, number, len(name)) for number, name in enumerate(order, 1)}


def _fitted(prefix: str, number: int, length: int) -> str:
    """`user0001`, `user01`, `u01` or `user0001xxx`: programs wrap their lines at a column, and readers know it."""
    digits = length - len(prefix)
    if digits >= 4:
        return f"{prefix}{number:04d}".ljust(length, "x")
    if digits >= len(str(number)):
        return f"{prefix}{number:0{digits}d}"
    return f"{prefix[0]}{number:0{length - 1}d}" if length > len(str(number)) else f"{prefix}{number:04d}"


def _numbered(names: Iterable[str], form: str) -> dict[str, str]:
    """Numbers in natural order: `gpu9` before `gpu10`."""
    order = sorted({name.lower() for name in names}, key=_natural)
    return {name: form.format(number) for number, name in enumerate(order, 1)}


def _hosts(names: Iterable[str]) -> dict[str, str]:
    """A host without a number gets one without: numbers are what tells machines apart where lines are compared."""
    plain = sorted({name.lower() for name in names if not any(c.isdigit() for c in name)})
    letters = {
        name: f"host{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n, name in enumerate(plain[: 26 * 26])
    }
    return letters | _numbered((name for name in names if name.lower() not in letters), "node{:04d}")


def _natural(name: str) -> tuple[str, list[int], str]:
    return _NUMBER.sub("0", name), [int(n) for n in _NUMBER.findall(name)], name


def _compressed(names: list[str]) -> str:
    """`node[0001-0003,0007]`; what is no such name stands beside it."""
    numbers = [name.removeprefix("node") for name in names if re.fullmatch(r"node\d+", name)]
    rest = [name for name in names if not re.fullmatch(r"node\d+", name)]
    ranges: list[list[str]] = []
    for number in numbers:
        if ranges and int(ranges[-1][-1]) + 1 == int(number):
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    told = ",".join("-".join(part) for part in ranges)
    if len(numbers) > 1:
        return ",".join([f"node[{told}]", *rest])
    return ",".join([*(f"node{number}" for number in numbers), *rest])
