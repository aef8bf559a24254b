"""The byte path and its proof: bring weights in, hash them as they pass, prove them again, lay them out for a release.

<weights root>/<org>--<name>/<commit>/      complete when every file of the manifest has a receipt
    model-00001-of-00119.safetensors ...    a file that has its name was whole when it got it
    .modelpivot/manifest.json               what must be here
                receipts.jsonl              what was proved, one line a proof, the last one of a file counts
                partial/                    downloads that are not whole yet, and those set aside because they were wrong
                fetch.lock                  held while a process fetches into this directory
"""
