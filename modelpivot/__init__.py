"""Moves a GPU host from the language model it serves to another one: stage, prove, cut over, measure, go back when it is not good."""
