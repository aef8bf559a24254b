"""The stages of a pivot: the only place where deciding and changing meet. Each is called alike by a task, a command and the switch."""
