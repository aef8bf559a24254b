"""The shard table against the Great Expectations suite."""
