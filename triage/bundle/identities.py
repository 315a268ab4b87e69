"""Names of hosts, users and other things of a site, found where logs, paths and schedulers state them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from triage.bundle.vocabulary import PACKAGES, PUBLIC_HOSTS, Vocabulary
from triage.core.events.ranges import expand_hosts
from triage.core.lazy import lazy
from triage.core.values import dataclass

HOST, USER, OTHER, DOMAIN = "host", "user", "other", "domain"
MOST = 100_000
"""Names of one kind: a hostile log may state any number of them."""

_EQUALS = r"[\"']?\s{0,12}(?:[:=]|=>)\s{0,12}[\"'\[(]?"
_HOSTS = r"(?P<host>[A-Za-z0-9][\w.,\[\]-]{0,4000})"
_USER = r"(?P<user>[A-Za-z_][\w.-]{0,63})"
_OTHER = r"(?P<other>[A-Za-z][\w.+-]{0,127})"
_OPTION = r"(?:[ =]{1,4}[\"']?)"

_CONTEXTS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (words, lazy(pattern, re.IGNORECASE))
    for words, pattern in (
        (("host", "node", "addr", "server", "machine", "peer"),
         r"(?<![A-Za-z])(?:slurm_(?:job_|step_)?nodelist|slurmd_nodename|slurm_submit_host|slurm_topology_addr|hostname|host|hosts|hostlist|master_addr|main_address"
         r"|(?:req|exc|sched)?node_?list|batchhost|node(?:name|addr|hostname)?|node_?id|allocnode(?::sid)?|remote_host|server|machine|peer|addr(?:ess)?|master_address)" + _EQUALS + _HOSTS),
        (("addr", "endpoint", "node", "host"),
         r"--?(?:master[-_]addr|rdzv[-_]endpoint|nodelist|exclude|node-?list|hosts?|hostlist|rdzv[-_]conf)" + _OPTION + _HOSTS),
        (("endpoint",), r"endpoint" + _EQUALS + r"(?:tcp://)?" + _HOSTS),
        ((" on ", "from", " to ", " at ", "node", "host"),
         r"\b(?:(?:running|started|starting|launching|launched|executing|failed|lost|died) on(?! (?:the )?(?:host|node|server|machine)\b)|(?:on|from|at|to|of|for) (?:the )?(?:host|node|server|machine|peer)|hostname|ssh|error: node)[ ]+[\"'\[]?" + _HOSTS),
        ((" on ",), r"\b(?:step|job) \S{1,40} on " + _HOSTS + r" (?:cancelled|failed)"),
        (("error: ",), r"(?:srun|slurmstepd|slurmd|sbatch|salloc): error: " + _HOSTS + r": "),
        (("]:",), r"\[(?!\d{1,6}\])" + _HOSTS + r"\]:\d{2,5}(?![\w-])"),
        (("connect",), r"\bconnect(?:ed|ing|ion)?\b[^\n\[('\"]{0,40} (?:to|from) [\[('\"]{0,2}" + _HOSTS + r"[\]'\"]{0,2}(?:, |:)\d"),
        (("('", "(\""), r"\([\"']" + _HOSTS + r"[\"'], \d{2,5}\)"),
        (("node '",), r"\bnode '(?P<host>[\w.-]{1,200}?)_\d{1,9}_\d{1,4}'"),
        (("nccl",), r"(?:^|\s)(?P<host>[A-Za-z][\w.-]{1,120}):\d{1,8}:\d{1,8} \[\d{1,3}\] NCCL "),
        (("://",), r"\b(?:tcp|udp|grpc|ssh|nfs|ucx|gloo)://(?:[^\s@/]{1,80}@)?" + _HOSTS),
        (("user", "logname", "owner", "author", "login"),
         r"(?<![A-Za-z])(?:(?:slurm_job_|sudo_)?user(?:_?(?:id|name))?|logname|owner|author|login)" + _EQUALS + _USER),
        (("user ",), r"(?<![\w$])user [\"'`]?" + _USER),
        (("logged in as",), r"logged in as:? [\"']?(?P<user>[\w.-]{1,64})(?: \((?P<other>[\w.-]{1,64})\))?"),
        (("uid=", "gid=", "groups="), r"\b(?:uid|euid)=\d{1,12}\(" + _USER + r"\)"),
        (("gid=", "groups="), r"(?:\b(?:gid|groups)=|,)\d{1,12}\(" + _OTHER + r"\)"),
        (("~",), r"(?<![\w~])~(?P<user>[A-Za-z_][\w.-]{1,63})(?=/)"),
        (("/home", "/users", "/u/", "/people", "/scratch", "/work/"), r"/(?:home|homes|users|people|u|scratch|work)/(?P<user>[A-Za-z_][\w.-]{0,63})(?=[/\s\"':,;)\]}]|$)"),
        (("account", "partition", "qos", "job", "reservation", "cluster", "entity", "project", "group", "team"),
         r"(?<![A-Za-z])(?:slurm_job_(?:account|partition|qos|name|reservation)|slurm_cluster_name|account|partition|qos|reservation|job_?name|cluster_?name|group_?id"
         r"|(?:wandb_)?(?:entity|project|team))" + _EQUALS + _OTHER),
        (("--",), r"--(?:account|partition|qos|reservation|job-name|uid|gid)" + _OPTION + _OTHER),
        (("#sbatch",), r"#SBATCH\s{1,8}-[ApJqM]\s{0,8}" + _OTHER),
        (("@",), r"\bgit@[\w.-]{1,200}:(?P<other>[\w.-]{1,100})/"),
    )
)  # fmt: skip
"""Words of which one stands, lower case, in a line that states a name; and how it is stated."""

_AT = lazy(
    r"(?<![\w.+/@-])(?P<user>[A-Za-z_][\w.+-]{0,63})@(?P<host>[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,6})"
)
_TOP = "com|net|org|edu|gov|mil|int|local|internal|intra|lan|cluster|corp|cloud|hpc|example|test|de|fr|uk|ch|jp|cn|eu|it|es|nl|se|no|fi|pl|au|ca|kr|sg|us|in"
_QUALIFIED = lazy(
    rf"(?<![\w.@/-])(?P<host>(?:[A-Za-z0-9][\w-]{{0,62}}\.){{1,6}}(?:{_TOP}))(?![\w.-]*[\w(])", re.IGNORECASE
)
_EC2 = lazy(r"\b(?P<host>ip(?:-\d{1,3}){4})\b")
_PATH = lazy(r"(?<![\w.$}])(?:/[\w.@+=~,-]{1,200}){2,40}")
_STRICT = lazy(r"(?:=[\"'\[(]?|/(?:home|homes|users|people|u)/|~|\d\(|@)$")
"""What stands before a name that may be a common word; behind `user ` and `node: ` such a word is only a word."""
_RANDOM = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{12,}$")
"""What a program drew itself."""
_NO_NAMES = lazy(
    r"localhost(?:[46]?\.localdomain[46]?)?|n/?a|none|null|true|false|\d[\d.,:-]*|[\d.]+[a-z]?|\(.*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Identities:
    """What was found, by its kind."""

    vocabulary: Vocabulary
    found: dict[str, set[str]] = field(
        default_factory=lambda: {HOST: set(), USER: set(), OTHER: set(), DOMAIN: set()}
    )

    def add_line(self, line: str) -> None:
        """Names that a line of a log states."""
        for kind, start, end in stated(line, self.vocabulary):
            self.add(kind, line[start:end])
        if line.count("/") > 1:
            for match in _PATH.finditer(line):
                self.add_path(match[0])

    def add(self, kind: str, text: str) -> None:
        """A name; a list of hosts in Slurm's notation is every one of them."""
        if kind != HOST:
            text = text.rstrip(".,-[]")
            if len(text) > 1 and len(self.found[kind]) < MOST and not _NO_NAMES.fullmatch(text):
                self.found[kind].add(text)
            return
        if len(self.found[HOST]) > MOST:
            return
        for name in expand_hosts(text) if "[" in text or "," in text else (text,):
            self._add_host(name.strip("[]().,"))

    def add_path(self, path: str) -> None:
        """The folders of a path whose names are no common words."""
        for part in folders_to_replace(path, self.vocabulary):
            if len(part) > 3 and len(self.found[OTHER]) < MOST and any(c.isalpha() for c in part):
                self.found[OTHER].add(part)

    def _add_host(self, name: str) -> None:
        if not any(c.isalpha() for c in name) or _NO_NAMES.fullmatch(name) or name.lower() in PUBLIC_HOSTS:
            return
        short, _, domain = name.partition(".")
        if domain and not any(c.isalpha() for c in domain):
            return
        if domain and name.rsplit(".", 1)[-1] in (
            "py",
            "so",
            "cpp",
            "cc",
            "cu",
            "h",
            "log",
            "out",
            "err",
            "json",
            "sh",
            "txt",
        ):
            return
        if domain:
            self.found[HOST].add(name)
            self.found[DOMAIN].add(domain)
        if len(short) > 1 and any(c.isalpha() for c in short):
            self.found[HOST].add(short)


def stated(line: str, vocabulary: Vocabulary) -> Iterator[tuple[str, int, int]]:
    """Kind and place of each name that the line states."""
    for kind, start, end in _stated(line):
        if not vocabulary.is_word(line[start:end].rstrip(".,-[]")) or _STRICT.search(
            line, max(0, start - 12), start
        ):
            yield kind, start, end


def _stated(line: str) -> Iterator[tuple[str, int, int]]:
    folded = line.lower()
    for words, pattern in _CONTEXTS:
        if any(word in folded for word in words):
            for match in pattern.finditer(line):
                for kind, text in match.groupdict().items():
                    if text:
                        yield kind, match.start(kind), match.end(kind)
    if "@" in line:
        for match in _AT.finditer(line):
            if match["user"] != "git":
                yield USER, match.start("user"), match.end("user")
            yield HOST, match.start("host"), match.end("host")
    for word, pattern in ((".", _QUALIFIED), ("ip-", _EC2)):
        if word in line:
            for match in pattern.finditer(line):
                yield HOST, *match.span("host")


def folders_to_replace(path: str, vocabulary: Vocabulary) -> Iterator[str]:
    """The folders of a path, as far as they may be somebody's own: not those of a package, and no common words."""
    *folders, _ = path.split("/")
    for folder in folders:
        if folder in PACKAGES or re.fullmatch(r"python3\.\d{1,2}", folder):
            return
        if folder and not vocabulary.is_plain(folder) and not _RANDOM.match(folder):
            yield folder
