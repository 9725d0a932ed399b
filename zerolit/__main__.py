"""`python -m zerolit` is `zerolit`."""

import sys

from zerolit.cli import main

sys.exit(main())
