"""Control flow of the evaluator: lists, branches, loops, functions."""

from __future__ import annotations

from collections.abc import Callable

from triage.core.script import streams, tree
from triage.core.script.allocation import Allocation
from triage.core.script.command import Command
from triage.core.script.counting import count
from triage.core.script.decisions import Exit, Way
from triage.core.script.expand import Expander
from triage.core.script.fork import Fork, falling, is_test, varies
from triage.core.script.holes import EACH_HOST, HOSTS, Holes, known
from triage.core.script.limits import CALLS, UNROLLED, Budget
from triage.core.script.parse import parse
from triage.core.script.patterns import fits
from triage.core.script.slurm_variables import slurm_variable
from triage.core.script.state import Field, State, merge
from triage.core.script.submissions import Submission
from triage.core.script.tree import Block, Node
from triage.core.script.wrappers import Wrapper

_STEP = 20
"""What following one command costs of the budget, whatever its length."""
_DEEP_LOOPS = 3


Simple = Callable[["Flow", tree.Simple, State], str]


class Flow:
    """Follows commands. Its methods give what was printed, as far as someone listens (`capturing`)."""

    def __init__(self, simple: Simple, budget: Budget, holes: Holes, job: Allocation, *, batch: bool) -> None:
        self.simple = simple
        """What follows a simple command (`run.simple`)."""
        self.holes = holes
        self.budget = budget
        self.expander = Expander(self.holes, budget, self.outside, self.substitution)
        self.job = job
        self.steps: list[Allocation | None] = [None]
        self.lost: list[tuple[str, ...]] = []
        """Variables that each srun around the current command keeps from its tasks."""
        self.outputs: list[Field] = []
        """Files into which what the current command prints is redirected."""
        self.per_task = [not batch]
        """Whether the code being followed runs once per task, innermost last."""
        self.commands: list[Command] = []
        self.submissions: list[Submission] = []
        self.wrappers: tuple[Wrapper, ...] = ()
        self.status: bool | None = True
        """How the last command ended; `None` where both ways are to be considered."""
        self.way: Way = ()
        """The arms of undecided branches around the current command."""
        self.arms: list[int] = []
        """For each undecided branch how many arms it has."""
        self.exits: list[Exit] = []
        self.loops = 0
        self.mute = 0
        self.background = 0
        self.calls = 0
        self.capturing = 0
        self.printed_line = 0
        """In which line what was printed last begins."""
        self.substituting = 0
        """Inside `$( )`, where commands serve the script, not the job."""
        self.activated = False
        self.left: list[list[State]] = [[]]
        """States that left the current function or loop from inside an undecided branch."""

    def outside(self, name: str) -> str | None:
        if name == "SLURM_ARRAY_TASK_ID" and self.job.array:
            return self.holes.unknown("it is another one in each task of the array", self.job.array)
        return slurm_variable(name, self.job, self.steps[-1], per_task=self.per_task[-1])

    def block(self, nodes: Block, state: State) -> str:
        printed: list[str] = []
        first = 0
        for node in nodes:
            if state.dead:
                break
            printed.append(self.node(node, state))
            first = first or (self.printed_line if printed[-1] else 0)
        self.printed_line = first
        return "".join(printed) if self.capturing else ""

    def node(self, node: Node, state: State) -> str:
        self.budget.spend(_STEP)
        match node:
            case tree.Simple():
                return self.simple(self, node, state)
            case tree.AndOr():
                return self.and_or(node, state)
            case tree.Pipeline():
                return self.pipeline(node, state)
            case tree.If():
                return self.branches(node, state)
            case tree.For():
                return self.iteration(node, state)
            case tree.While():
                return self.loop(node, state)
            case tree.Case():
                return self.selection(node, state)
            case tree.Group():
                return self.group(node, state)
            case tree.Background():
                return self.detached(node, state)
            case tree.Function():
                state.functions[node.name] = node.body
                self.status = True
            case tree.Arithmetic():
                self.status = count(node.text, self.expander, state, node.line)
        return ""

    def and_or(self, node: tree.AndOr, state: State) -> str:
        printed = self.node(node.first, state)
        tested = is_test(node.first)
        fork: Fork | None = None
        outer = self.way
        for operator, following in node.rest:
            if state.dead:
                break
            status = self.status
            if status is None and not tested:
                status = True
            if status is None:
                answers = fork is not None and operator == "||"
                branch = fork if fork is not None and answers else Fork(self)
                self.way = outer if fork is None or answers else (*self.way, (fork.number, 0))
                before = state.copy()
                self.budget.spend(state.size)
                printed += branch.arm((following,), state)
                branch.close(whole=answers)
                fork = branch if operator == "&&" else None
                self.join(state, [before, *branch.ends[-1:]], node.line)
                self.status = None
            elif status is (operator == "&&"):
                printed += self.node(following, state)
                tested = is_test(following)
            elif operator == "||" and not is_test(node.first):
                self.perhaps((following,), state, node.line)
                self.status = True
        self.way = outer
        return printed

    def perhaps(self, body: Block, state: State, line: int) -> str:
        """`command || node`: followed, but its effects count as those of one of two branches."""
        fork = Fork(self)
        printed = fork.arm(body, state)
        fork.close()
        self.join(state, [state.copy(), *fork.ends], line)
        return printed

    def join(self, state: State, branches: list[State], line: int, *, choices: bool = True) -> None:
        """Makes `state` what is known behind several branches."""
        self.budget.spend(sum(branch.size for branch in branches))
        alive = [branch for branch in branches if not branch.dead]
        if alive and len(self.left) > 1:
            self.left[-1] += [item for item in branches if item.dead and item.dead != "exit"][:UNROLLED]
        state.become(merge(branches, self.holes, line, choices=choices))

    def pipeline(self, node: tree.Pipeline, state: State) -> str:
        if len(node.commands) == 1:
            printed = self.node(node.commands[0], state)
        else:
            printed, given = "", state.input
            self.capturing += 1
            for command in node.commands:
                inner = state.copy()
                self.budget.spend(state.size)
                inner.input, inner.input_line = given, self.printed_line
                printed = given = self.node(command, inner)
                state.files |= inner.files
            self.capturing -= 1
        if node.negated and self.status is not None:
            self.status = not self.status
        return printed

    def detached(self, node: tree.Background, state: State) -> str:
        inner = state.copy()
        self.budget.spend(state.size)
        self.background += 1
        printed = self.node(node.node, inner)
        self.background -= 1
        self.status = True
        return printed

    def group(self, node: tree.Group, state: State) -> str:
        given, line = state.input, state.input_line
        stored = streams.stored(node.redirects)
        streams.redirect_input(self, node.redirects, state)
        inner = state.copy() if node.subshell else state
        self.budget.spend(state.size if node.subshell else 0)
        self.capturing += stored
        printed = self.block(node.body, inner)
        self.capturing -= stored
        if node.subshell:
            state.files |= inner.files
        printed = streams.redirect_output(self, node.redirects, printed, state)
        state.input, state.input_line = given, line
        return printed

    def branches(self, node: tree.If, state: State) -> str:
        fork = Fork(self)
        printed: list[str] = []
        decided = False
        for condition, body in node.arms:
            fork.rest(condition, state)
            if self.status is False:
                continue
            if self.status is True and condition and is_test(condition[-1]):
                printed.append(fork.rest(body, state))
                decided = True
                break
            printed.append(fork.arm(body, state))
        if not decided:
            printed.append(fork.rest(node.otherwise, state))
        fork.close()
        if fork.ends:
            self.join(state, [*fork.ends, state.copy()], node.line)
        self.status = True if not fork.ends else None
        return self.either(printed)

    def either(self, printed: list[str]) -> str:
        if not printed or all(item == printed[0] for item in printed):
            return printed[0] if printed else ""
        return self.holes.unknown("the output differs between branches")

    def selection(self, node: tree.Case, state: State) -> str:
        subject = self.expander.text(node.subject, state)
        fork = Fork(self)
        printed: list[str] = []
        decided = False
        for index, arm in enumerate(node.arms):
            verdict = self.matches(subject, arm.patterns, state)
            if verdict is False:
                continue
            body, end = falling(node.arms[index:])
            if verdict is True:
                printed.append(fork.rest(body, state))
                decided = end != ";;&"
            elif end == ";;&":
                printed.append(self.perhaps(body, state, node.line))
            else:
                printed.append(fork.arm(body, state))
            if decided:
                break
        fork.close()
        if fork.ends:
            self.join(state, [*fork.ends, state.copy()], node.line)
        self.status = True
        return self.either(printed) if decided or len(printed) == 1 else self.either([*printed, ""])

    def matches(self, subject: str, patterns: tuple[tree.Word, ...], state: State) -> bool | None:
        verdict: bool | None = False
        for word in patterns:
            pattern = self.expander.text(word, state)
            if pattern == "*":
                return True
            one = fits(pattern, subject) if known(subject) and known(pattern) else None
            if one is True:
                return True
            verdict = None if one is None else verdict
        return verdict

    def iteration(self, node: tree.For, state: State) -> str:
        fields = self.expander.fields(node.items, state) if node.items is not None else None
        if fields is not None and len(fields) <= UNROLLED and all(known(item.text) for item in fields):
            printed = []
            self.loops += 1
            self.left.append([])
            for item in fields:
                state.assign(node.name, item.text, item.line)
                printed.append(self.block(node.body, state))
                ended, state.dead = state.dead, "" if state.dead in ("break", "continue") else state.dead
                if ended and ended != "continue":
                    break
            self.leave_loop(state, node.line)
            return "".join(printed)
        if node.name:
            hosts = fields is not None and [item.text for item in fields] == [HOSTS]
            reason = f"{node.name} {EACH_HOST if hosts else 'takes several values'}"
            state.assign(node.name, self.holes.unknown(reason), node.line)
        return self.widened(node.body, state, node.line)

    def loop(self, node: tree.While, state: State) -> str:
        if "\n" in state.input.strip("\n"):
            state.input = self.holes.unknown("every turn of the loop reads another line")
        if varies(node.condition):
            trial = state.copy()
            self.budget.spend(state.size)
            self.mute += 1
            counts = self.turns(node, trial) is not None
            self.mute -= 1
            if counts:
                return "".join(self.turns(node, state) or ())
        self.block(node.condition, state)
        if self.status is node.until:
            self.status = True
            return ""
        return self.widened((*node.body, *node.step, *node.condition), state, node.line)

    def turns(self, node: tree.While, state: State) -> list[str] | None:
        """Follows a loop turn by turn; `None` where it is not known when it ends."""
        printed: list[str] = []
        known_end = False
        self.loops += 1
        self.left.append([])
        for _ in range(UNROLLED + 1):
            self.block(node.condition, state)
            if self.status is None or self.status is node.until:
                known_end = self.status is not None
                break
            printed.append(self.block(node.body, state))
            ended, state.dead = state.dead, "" if state.dead in ("break", "continue") else state.dead
            if ended and ended != "continue":
                known_end = True
                break
            self.block(node.step, state)
        self.leave_loop(state, node.line)
        self.status = True
        return printed if known_end else None

    def widened(self, body: Block, state: State, line: int) -> str:
        """The body once silently, to see what it changes, then once for good."""
        self.loops += 1
        self.left.append([])
        if self.loops <= _DEEP_LOOPS:
            for _ in range(2):
                once = state.copy()
                self.mute += 1
                self.block(body, once)
                self.mute -= 1
                once.dead = "" if once.dead in ("break", "continue") else once.dead
                self.join(state, [state.copy(), once], line, choices=False)
        again = state.copy()
        self.budget.spend(state.size)
        printed = self.block(body, again)
        again.dead = "" if again.dead in ("break", "continue") else again.dead
        self.join(state, [state.copy(), again], line, choices=False)
        self.leave_loop(state, line)
        self.status = True
        return self.holes.unknown("the output of a loop") if printed else ""

    def leave_loop(self, state: State, line: int) -> None:
        self.loops -= 1
        left = self.left.pop()
        if left and not state.dead:
            for item in left:
                item.dead = "" if item.dead in ("break", "continue") else item.dead
            self.join(state, [state.copy(), *left], line, choices=False)

    def call(self, body: Node, arguments: tuple[str, ...], state: State) -> str:
        """A function with its arguments."""
        if self.calls >= CALLS:
            self.status = None
            return self.holes.unknown("calls are nested too deeply")
        outer, scope, references = state.arguments, state.scope, state.references
        state.arguments, state.scope, state.references = arguments, {}, dict(references)
        self.calls += 1
        self.left.append([])
        printed = self.node(body, state)
        left = self.left.pop()
        self.calls -= 1
        state.dead = "" if state.dead == "return" else state.dead
        for item in (state, *left):
            item.leave_scope()
            item.arguments, item.scope, item.references = outer, scope, references
        if left and not state.dead:
            for item in left:
                item.dead = ""
            self.join(state, [state.copy(), *left], 0)
        return printed

    def text(self, text: str, state: State, line: int) -> str:
        """Shell text that begins in `line`: `eval`, `bash -c`, a sourced here-document."""
        if self.calls >= CALLS:
            return self.holes.unknown("calls are nested too deeply")
        self.budget.spend(len(text) * 4)
        self.calls += 1
        printed = self.block(parse(text, line, self.calls * 2), state)
        self.calls -= 1
        return printed

    def substitution(self, text: str, state: State, line: int) -> str:
        """What `$(text)` gives, its trailing newlines taken off."""
        inner = state.copy()
        self.budget.spend(state.size)
        self.capturing += 1
        self.substituting += 1
        printed = self.text(text, inner, line)
        self.substituting -= 1
        self.capturing -= 1
        return printed.rstrip("\n")
