"""`python -m triage`."""

from __future__ import annotations

import sys

from triage.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
