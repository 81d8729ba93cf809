"""How does a trace get onto the screen as a timeline that answers at once?"""
