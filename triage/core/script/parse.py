"""The grammar of bash as far as job scripts use it: text to a tree of commands.

It never fails: what does not fit the grammar is skipped, as deep as `limits.DEPTH`.
"""

from __future__ import annotations

import re

from triage.core.script import tree
from triage.core.script.limits import DEPTH
from triage.core.script.tokens import Tokens
from triage.core.script.tree import DECLARES, Assignment, Block, Node, Part, Redirect, Word
from triage.core.script.words import Lines, closing, read_word

_FUNCTION = re.compile(r"([\w.:-]+)[ \t]*\([ \t]*\)", re.ASCII)
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]{0,200}\])?(\+?)=", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KEYED = re.compile(r"\[([^\]\n]{1,200})\]=")
_CONDITION_END = re.compile(r"\]\](?=[\s;&|)]|$)")
_OPERATOR = re.compile(r"&&|\|\||[()<>!]")


def parse(text: str, first_line: int = 1, depth: int = 0) -> Block:
    """The commands of a script or of a part of one that begins in `first_line`."""
    return _Parser(text, first_line, depth).everything()


class _Parser(Tokens):
    def everything(self) -> Block:
        found: list[Node] = []
        while self.position < len(self.text):
            start = self.position
            found += self.block(frozenset())
            if self.position == start:
                self.position += 1
        return tuple(found)

    def block(self, stops: frozenset[str]) -> Block:
        """Commands up to one of the reserved words or marks, which is not taken."""
        found: list[Node] = []
        while True:
            self.newlines()
            if self.position >= len(self.text) or self.keyword() in stops:
                break
            if any(mark in stops and self.peek(mark) for mark in (")", ";;", ";&")):
                break
            start = self.position
            node = self.and_or()
            self.blanks()
            if self.peek("&") and not self.peek("&&") and node is not None:
                self.position += 1
                node = tree.Background(node, node.line)
            elif self.peek(";") and not self.peek(";;"):
                self.position += 1
            if node is not None:
                found.append(node)
            elif self.position == start:
                if not stops:
                    break
                self.position += max(1, len(self.keyword()))
        return tuple(found)

    def and_or(self) -> Node | None:
        first = self.pipeline()
        rest: list[tuple[str, Node]] = []
        while first is not None:
            self.blanks()
            operator = next((mark for mark in ("&&", "||") if self.peek(mark)), None)
            if operator is None:
                break
            self.position += 2
            self.newlines()
            following = self.pipeline()
            if following is None:
                break
            rest.append((operator, following))
        return tree.AndOr(first, tuple(rest), first.line) if first is not None and rest else first

    def pipeline(self) -> Node | None:
        self.blanks()
        negated = False
        while (word := self.keyword()) in ("!", "time", "coproc"):
            negated ^= word == "!"
            self.position += len(word)
            self.blanks()
        first = self.command()
        commands = [] if first is None else [first]
        while commands:
            self.blanks()
            if not self.peek("|") or self.peek("||"):
                break
            self.position += 2 if self.peek("|&") else 1
            self.newlines()
            following = self.command()
            if following is None:
                break
            commands.append(following)
        if not commands:
            return None
        if len(commands) == 1 and not negated:
            return commands[0]
        return tree.Pipeline(tuple(commands), negated, commands[0].line)

    def command(self) -> Node | None:
        if self.depth >= DEPTH:
            self.position = len(self.text)
            return None
        self.depth += 1
        try:
            return self.compound() or self.simple()
        finally:
            self.depth -= 1

    def compound(self) -> Node | None:
        line, word = self.line, self.keyword()
        if word in ("if", "while", "until", "for", "select", "case", "function", "{"):
            self.position += len(word)
            match word:
                case "if":
                    node: Node = self.conditional(line)
                case "while" | "until":
                    node = self.loop(line, until=word == "until")
                case "for" | "select":
                    node = self.iteration(line, word)
                case "case":
                    node = self.selection(line)
                case "function":
                    return self.function(line)
                case _:
                    node = tree.Group(self.block(frozenset({"}"})), False, (), line)
                    self.expect("}")
        elif self.peek("(("):
            end = closing(self.text, self.position + 1, "(")
            node = tree.Arithmetic(self.text[self.position + 2 : end - 1], line)
            self.position = end + 1
        elif self.take("("):
            body = self.block(frozenset({")"}))
            self.take(")")
            node = tree.Group(body, True, (), line)
        elif match_ := _FUNCTION.match(self.text, self.position):
            self.position = match_.end()
            return self.body_of(match_[1], line)
        else:
            return None
        redirects = self.redirects()
        return tree.Group((node,), False, redirects, line) if redirects else node

    def conditional(self, line: int) -> tree.If:
        ends = frozenset({"elif", "else", "fi"})
        arms: list[tuple[Block, Block]] = []
        otherwise: Block = ()
        while True:
            condition = self.block(frozenset({"then"}) | ends)
            self.expect("then")
            arms.append((condition, self.block(ends)))
            if not self.expect("elif"):
                break
        if self.expect("else"):
            otherwise = self.block(frozenset({"fi"}))
        self.expect("fi")
        return tree.If(tuple(arms), otherwise, line)

    def loop(self, line: int, *, until: bool) -> tree.While:
        condition = self.block(frozenset({"do"}))
        return tree.While(condition, self.do_block(), line, until)

    def counted(self, line: int) -> tree.Group:
        """`for ((first; condition; step))`."""
        end = closing(self.text, self.position + 1, "(")
        texts = [*self.text[self.position + 2 : end - 1].split(";"), "", ""]
        self.position = end + 1
        self.newlines()
        self.take(";")
        first, condition, step = (tree.Arithmetic(text, line) for text in texts[:3])
        if not condition.text.strip():
            condition = tree.Arithmetic("1", line)
        turns = tree.While((condition,), self.do_block(), line, step=(step,))
        return tree.Group((first, turns), False, (), line)

    def do_block(self) -> Block:
        self.expect("do")
        body = self.block(frozenset({"done"}))
        self.expect("done")
        return body

    def iteration(self, line: int, word: str) -> tree.For | tree.Group:
        self.blanks()
        if self.peek("(("):
            return self.counted(line)
        match = _NAME.match(self.text, self.position)
        name = match[0] if match else ""
        self.position += len(name)
        self.newlines()
        items: tuple[Word, ...] | None = None
        if re.compile(r"in(?=\s|;)").match(self.text, self.position):
            self.position += 2
            items = self.words()
        self.newlines()
        self.take(";")
        return tree.For(name, None if word == "select" else items, self.do_block(), line)

    def words(self) -> tuple[Word, ...]:
        found: list[Word] = []
        while True:
            self.blanks()
            word = self.word()
            if not word:
                return tuple(found)
            found.append(word)

    def selection(self, line: int) -> tree.Case:
        self.blanks()
        subject = self.word()
        arms: list[tree.Arm] = []
        self.newlines()
        if self.peek("in"):
            self.position += 2
        while True:
            self.newlines()
            if self.position >= len(self.text) or self.keyword() == "esac":
                break
            self.take("(")
            patterns: list[Word] = []
            while True:
                self.blanks()
                pattern = self.word()
                if pattern:
                    patterns.append(pattern)
                self.blanks()
                if not self.take("|"):
                    break
            if not self.take(")"):
                break
            body = self.block(frozenset({";;", ";&", "esac"}))
            end = next((mark for mark in (";;&", ";;", ";&") if self.take(mark)), ";;")
            arms.append(tree.Arm(tuple(patterns), body, end))
        self.expect("esac")
        return tree.Case(subject, tuple(arms), line)

    def function(self, line: int) -> Node | None:
        self.blanks()
        match = re.compile(r"[\w.:-]+").match(self.text, self.position)
        name = match[0] if match else ""
        self.position += len(name)
        self.blanks()
        if self.take("("):
            self.blanks()
            self.take(")")
        return self.body_of(name, line)

    def body_of(self, name: str, line: int) -> Node | None:
        self.newlines()
        body = self.command()
        return None if body is None else tree.Function(name, body, line)

    def simple(self) -> Node | None:
        line = self.line
        if self.peek("[[") and self.text[self.position + 2 : self.position + 3].isspace():
            return self.test(line)
        assignments: list[Assignment] = []
        arrays: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            found = self.redirect()
            if found is not None:
                redirects.append(found)
                continue
            declares = bool(words) and words[0][0].text in DECLARES
            match = _ASSIGN.match(self.text, self.position) if not words or declares else None
            if match and not words:
                assignments.append(self.assignment(match))
                continue
            if match and self.text.startswith("(", match.end()):
                arrays.append(self.assignment(match))
                continue
            word = self.word()
            if not word:
                break
            words.append(word)
        if not (assignments or words or redirects or arrays):
            return None
        return tree.Simple(tuple(assignments), tuple(words), tuple(redirects), line, tuple(arrays))

    def assignment(self, match: re.Match[str]) -> Assignment:
        line, self.position = self.line, match.end()
        index: Word | None = None
        if match[2]:
            index = read_word(match[2][1:-1].strip(), 0, Lines("", line))[0]
        append = bool(match[3])
        if self.take("("):
            return Assignment(match[1], index, append, self.array(), True, line)
        return Assignment(match[1], index, append, self.word(), False, line)

    def array(self) -> tuple[tuple[Word | None, Word], ...]:
        found: list[tuple[Word | None, Word]] = []
        while self.position < len(self.text):
            self.newlines()
            if self.take(")"):
                break
            start, key = self.position, None
            if match := _KEYED.match(self.text, self.position):
                key = read_word(match[1].strip(), 0, Lines("", self.line))[0]
                self.position = match.end()
            word = self.word()
            if word or key is not None:
                found.append((key, word))
            elif self.position == start:
                self.position += 1
        return tuple(found)

    def test(self, line: int) -> tree.Simple:
        """`[[ ... ]]`, its operators as words."""
        self.position += 2
        words: list[Word] = [(Part("text", "[[", False, line),)]
        while self.position < len(self.text):
            self.newlines()
            if _CONDITION_END.match(self.text, self.position):
                self.position += 2
                break
            start = self.position
            if match := _OPERATOR.match(self.text, self.position):
                following = self.text[match.end() : match.end() + 1]
                if match[0] != "!" or following.isspace():
                    words.append((Part("text", match[0], False, line),))
                    self.position = match.end()
                    continue
            word = self.word()
            if word:
                words.append(word)
            elif self.position == start:
                self.position += 1
        return tree.Simple((), tuple(words), self.redirects(), line)
