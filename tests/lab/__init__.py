"""A real systemd for tests, in namespaces over a throw-away layer of the root file system. Never the machine's own."""
