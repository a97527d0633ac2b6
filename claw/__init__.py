"""claw: an agent runtime, and the lab that tests agent runtimes against simulated providers."""

__version__ = "0.1.0"
