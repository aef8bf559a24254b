"""Read the host and the model; reading changes nothing."""
