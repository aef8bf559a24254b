"""Who starts and stops engines on a host, behind one Protocol."""
