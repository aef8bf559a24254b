"""`python -m modelpivot`."""

from modelpivot.cli import main

main()
