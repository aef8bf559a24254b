"""One read-only Hub over a folder: the demo's, the neighbours' and the tests'."""
