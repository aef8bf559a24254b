"""Prefect on this machine: a server with authentication, a worker, and everything of ours in place; started, found again, ended."""
