"""The byte path and its proof: manifest, transport, fetch, headers, index, receipts, verify, view."""
