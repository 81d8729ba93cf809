"""The only code that touches a device. Started as `python -m explorer.engine FOLDER`, imported by nobody."""
