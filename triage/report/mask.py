"""What a log may not carry to a reader: terminal control, markup of the output format, and secrets.

Every pattern is linear in the text: it starts at a literal or at the start of a word run, and bounds what follows.
"""

from __future__ import annotations

import re

from triage.core.lazy import lazy

MASK = "[masked]"

_ESCAPES = lazy(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI: colours, cursor
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS: titles, links
    "|\x1b[ -/]{0,8}[0-~]"
)
_UNSEEN = lazy(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""C0 (but tab and newline), C1 and the format characters (general category Cf): bidirectional overrides, zero width."""

_BREAKS = lazy("\r\n|[\r\u2028\u2029]")
_SURROGATES = lazy("[\ud800-\udfff]")

_BY_SHAPE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hf_", lazy(r"(?<![A-Za-z0-9])(hf_)[A-Za-z0-9]{16,}")),
    ("gh", lazy(r"(?<![A-Za-z0-9])(gh[pousr]_)[A-Za-z0-9]{16,}")),
    ("github_pat_", lazy(r"(?<![A-Za-z0-9])(github_pat_)[A-Za-z0-9_]{16,}")),
    ("glpat-", lazy(r"(?<![A-Za-z0-9])(glpat-)[A-Za-z0-9_-]{16,}")),
    ("nvapi-", lazy(r"(?<![A-Za-z0-9])(nvapi-)[A-Za-z0-9_-]{16,}")),
    ("sk-", lazy(r"(?<![A-Za-z0-9_-])(sk-)(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{16,}")),
    ("akia", lazy(r"(?<![A-Za-z0-9])(AKIA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("asia", lazy(r"(?<![A-Za-z0-9])(ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("xox", lazy(r"(?<![A-Za-z0-9])(xox[abeoprs]-)[A-Za-z0-9-]{8,}")),
    ("aiza", lazy(r"(?<![A-Za-z0-9_-])(AIza)[A-Za-z0-9_-]{35}")),
    ("eyj", lazy(r"(?<![A-Za-z0-9_-])(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?")),
    ("npm_", lazy(r"(?<![A-Za-z0-9])(npm_)[A-Za-z0-9]{30,}")),
    ("pypi-", lazy(r"(?<![A-Za-z0-9])(pypi-)[A-Za-z0-9_-]{40,}")),
    ("x-amz-s", lazy(r"((?i:[?&]X-Amz-S(?:ignature|ecurity-Token)=))[^\s&\"']+")),
    ("sig=", lazy(r"((?i:[?&]sig=))[^\s&\"']{16,}")),
    ("hooks.slack.com", lazy(r"((?i:hooks\.slack\.com/services/))[A-Za-z0-9/_-]+")),
    ("curl", lazy(r"((?i:\bcurl\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t]+[^\s:]{1,64}:))\S+")),
    ("sshpass", lazy(r"((?i:\bsshpass[ \t]+-p[ \t]*))\S+")),
    ("docker", lazy(r"((?i:\b(?:docker|podman)[ \t]+login\b[^\n]{0,200}?[ \t]-p[ \t]+))\S+")),
    ("cookie", lazy(r"((?i:\b(?:set-)?cookie:[ \t]*[\w.-]{1,64}=))[^\s;]+")),
    ("bearer", lazy(r"((?i:\bbearer[ \t]+))[A-Za-z0-9._~+/=-]{8,}")),
    (
        "authorization",
        lazy(
            r"((?i:\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:basic|token|bearer|digest)[ \t]+))[^\s\"',]+"
        ),
    ),
    ("$", lazy(r"(\$(?:[1-9][a-z]?|y|gy|sha1)\$)[./A-Za-z0-9$=,]{20,200}")),
    ("wandb", lazy(r"((?i:\bwandb[ \t]login[ \t]+(?:--?[a-z]+[ \t]+)?))[0-9a-f]{40}\b")),
    ("password", lazy(r"((?i:\b(?:login|user)[ \t]+\S{1,64}[ \t]+password[ \t]+))\S+")),
    ("@", lazy(r"(?<=://)([^\s/:@\"'<>]{1,256}:)[^\s/\"'<>]{1,1024}(?=@)")),
    ("@", lazy(r"(?<=://)()[A-Za-z0-9_-]{20,256}(?=@)")),
)
"""A word that stands in all of them, case folded, and the pattern. Group 1 is kept: it tells what kind of secret stood there."""

_PRIVATE_KEY = lazy(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?!\[masked\]).*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", re.S
)  # fmt: skip

_NAMED = lazy(
    r"(?P<name>password|passwd|passphrase|secret|token|(?:api|access|secret|private|auth|encryption|account|storage)[_-]?key)"
    r"(?P<link>[\"']?[ \t]{0,8}(?:[:=]|=>)[ \t]{0,8}|[\"'],[ \t]{0,4}(?=[\"'])|[ \t]{0,4}\.{3,100}[ \t]{0,4}|[ \t]+)"
    r"(?P<value>\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"',;&)\]}]{1,4096})",
    re.I,
)
_ASSIGNED = lazy(
    r"(?P<name>\b(?:[A-Z][A-Z0-9_]{0,60}_)?(?:KEY|PASS|PAT|CREDENTIALS?))(?P<link>=)"
    r"(?P<value>\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"',;&)\]}]{1,4096})"
)
"""A variable of the environment: `export KEY=...`."""
_NAMED_WORDS = ("passw", "passphrase", "secret", "token", "key")
"""One of these stands, case folded, in every name."""
_NO_SECRET = lazy(r"none|null|true|false|\$.*|<.*|\[.*|\*+|os\.environ.*|x{3,}", re.I)
_MODEL_TOKENS = lazy(
    r"(?:eos|bos|pad|mask|unk|sep|cls|eod|stop|image|start|end|next|new|last|first|cur|special|vocab|per|prev|padding)[_-]?$", re.I
)  # fmt: skip


def clean(text: str) -> str:
    """The text without terminal control: only letters, tabs and newlines reach a reader."""
    if text.isascii() and text.isprintable():
        return text
    text = _SURROGATES.sub("\ufffd", _ESCAPES.sub("", text))
    return _UNSEEN.sub("", _BREAKS.sub("\n", text))


def mask_secrets(text: str) -> str:
    """Passwords, tokens and private keys replaced by `[masked]`; doing it twice changes nothing."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
    folded = text.casefold()
    for word, pattern in _BY_SHAPE:
        if word in folded:
            text = pattern.sub(rf"\1{MASK}", text)
    if "=" in text:
        text = _ASSIGNED.sub(_mask_named, text)
    return _NAMED.sub(_mask_named, text) if any(word in folded for word in _NAMED_WORDS) else text


def safe(text: str) -> str:
    """Clean and without secrets: what every renderer starts from."""
    return mask_secrets(clean(text))


def visible(text: str) -> str:
    """What would steer a terminal is spelt out, nothing else is changed."""
    return _UNSEEN.sub(lambda match: ascii(match[0])[1:-1], text)


def one_line(text: str) -> str:
    """White space folded to single blanks."""
    return " ".join(text.split())


def _mask_named(match: re.Match[str]) -> str:
    name, link, value = match["name"].lower(), match["link"], match["value"]
    before = match.string[max(0, match.start() - 32) : match.start()]
    quote = value[0] if value[0] in "\"'" and len(value) > 1 and value[-1] == value[0] else ""
    bare = value[1:-1] if quote else value
    option = re.search(r"--[\w-]*$", before) is not None
    if ((link.isspace() or "," in link) and not option) or not bare or _NO_SECRET.fullmatch(bare):
        return match[0]
    if name == "token" and _MODEL_TOKENS.search(before):
        return match[0]
    if not name.startswith("pass") and not _is_random(bare):
        return match[0]
    return f"{match['name']}{link}{quote}{MASK}{quote}"


def _is_random(value: str) -> bool:
    """True for what a person would not have written as a word: `token: 5` and `token: model` are no secrets."""
    if value.isdecimal() or len(value) < 6:
        return False
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    return (has_digit and has_letter) or (
        len(value) >= 16 and not re.fullmatch(r"[A-Za-z]+(?:[._ -][A-Za-z]+)*", value)
    )


def for_markdown(text: str) -> str:
    """Prose in Markdown: markup is escaped, and `@name` and `#1` link to nobody."""
    text = (
        re.sub(r"([\\`*_{}\[\]<>|~#])", r"\\\1", one_line(text)).replace("\\<", "&lt;").replace("\\>", "&gt;")
    )
    return re.sub(r"@(?=[A-Za-z0-9])", "@\u2060", text)


def code_span(text: str) -> str:
    """A Markdown code span that nothing in the text can end."""
    text = one_line(text)
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def code_block(text: str) -> str:
    """A fenced Markdown block that nothing in the text can end."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def for_github(text: str) -> str:
    """The message of a GitHub workflow command (`actions/toolkit`, core/src/command.ts escapeData): no text of a log
    can end it or start another."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace("::", ": :")


def for_github_property(text: str) -> str:
    """A property of a workflow command (escapeProperty)."""
    escaped = one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C")
