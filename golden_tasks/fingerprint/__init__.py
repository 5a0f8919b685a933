"""What live Python objects depend on, part by part, in a form that formatting and positions do not change."""

from golden_tasks.fingerprint.source import normal_form, of_python_file
from golden_tasks.fingerprint.walk import Fingerprint, fingerprint

__all__ = ["Fingerprint", "fingerprint", "normal_form", "of_python_file"]
