"""With what: Prefect blocks, each holding one model of modelpivot."""
