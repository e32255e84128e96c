"""What an agent pays in tokens until it can call the tools of a task, by the way in which it is shown them."""
