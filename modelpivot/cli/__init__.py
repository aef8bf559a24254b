"""The command modelpivot."""


def main() -> None:
    """Entry point."""
    from modelpivot.cli.app import app

    app()
