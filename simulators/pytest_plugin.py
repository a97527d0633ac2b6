"""pytest fixtures that put any code under test before the simulators."""
