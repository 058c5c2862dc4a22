"""Loads and unloads the parts of ompd_inspect.py."""

from . import breaks, commands, dap, follow, frames, session, settings, step, taskframes


def load(folder):
    """Makes the commands. folder contains ompd_inspect.py."""
    settings.register(folder, session.close, follow.apply_settings)
    commands.register()
    frames.register()
    breaks.register()
    step.register()
    taskframes.register()
    follow.register()
    dap.register()


def unload():
    """Ends the child and stops listening to gdb's events."""
    dap.unregister()
    follow.unregister()
    breaks.unregister()
    session.close()
