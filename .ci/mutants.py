"""Compares the mutants that survived every round with core/MUTANTS.md, and says the score."""

import re
import sys
from pathlib import Path

LEAST = 95.0


def names(round, kind):
    """The mutants of one list of a round, without their places in the file."""
    path = out / round / "mutants.out" / f"{kind}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [re.sub(r":\d+:\d+: ", ": ", line) for line in lines]


def listed():
    rows = Path("core/MUTANTS.md").read_text().splitlines()
    return {match[1] for row in rows if (match := re.match(r"\| `(core/src/.+?: .+?)` \| .+ \|$", row.replace("\\|", "|")))}


out, part = Path(sys.argv[1]), "--part" in sys.argv
viable = sum(len(names("unit", kind)) for kind in ("caught", "missed", "timeout"))
past = [names(round, "missed") for round in ("unit", "core", "sim")]
score = 100 * (viable - len(past[2])) / max(viable, 1)
print(f"mutants: {viable} that compile; past the unit tests {len(past[0])}, past the core's {len(past[1])}, "
      f"past the simulator's {len(past[2])}: {score:.1f} % caught")

known, survived = listed(), set(past[2])
unknown = sorted(survived - known)
stale = [] if part else sorted(known - survived)
for name in unknown:
    print(f"survives and is not in core/MUTANTS.md: {name}")
for name in stale:
    print(f"is in core/MUTANTS.md and does not survive: {name}")
sys.exit(1 if unknown or stale or (score < LEAST and not part) else 0)
