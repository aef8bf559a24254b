"""The whole pivot on this machine, without a GPU."""
