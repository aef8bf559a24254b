"""What is proved on a real systemd, in a sandbox."""
