"""A small read-only Hub over a folder: the demo's, a neighbour's and, with faults switched on, the tests'.

<root>/<org>/<name>/...     one repository; its commit is made of its content; revisions: `main` and the commit

It speaks what the Hub speaks (model info, tree, paths-info, resolve with redirects to another host name, Range), so that every client of
the Hub works against it. Two listeners: the Hub itself on 127.0.0.1, and the store of large files, with signed links, on 127.0.0.2.
"""
