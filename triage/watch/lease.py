"""Whether this watcher is the one that acts on a job."""

from __future__ import annotations

from triage.core.values import dataclass
from triage.store.leases import LENGTH, acquire, holder_of, release
from triage.watch.world import World


@dataclass(slots=True)
class Lease:
    """The lease of one job, renewed when a third of it has passed."""

    world: World
    job: int
    held: bool = False
    _asked: float | None = None

    def is_mine(self, now: float, *, sure: bool = False) -> bool:
        """With `sure` it is asked for anew: right before an act."""
        if sure or self._asked is None or not 0 <= now - self._asked < LENGTH / 3:
            self._asked = now
            world = self.world
            self.held = acquire(world.database, self.job, world.holder, world.host, now, dead=self._dead())
        return self.held

    def give_back(self) -> None:
        """Another watcher may be allowed what this one is not."""
        release(self.world.database, self.job, self.world.holder)
        self.held, self._asked = False, None

    def _dead(self) -> str | None:
        """The holder, if it was a process of this host that is gone."""
        found = holder_of(self.world.database, self.job)
        if found is None or found[1] != self.world.host:
            return None
        pid = found[0].split(":")[1] if found[0].count(":") == 2 else ""
        return found[0] if pid.isdigit() and not self.world.is_alive(int(pid)) else None
