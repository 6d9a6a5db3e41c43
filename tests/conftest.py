"""Settings of all tests."""

import os

from hypothesis import settings

# No deadline: how long an example takes says more about the machine than about the code.
settings.register_profile("adequa", deadline=None)
settings.load_profile("adequa")

# Some tests import onnxruntime themselves, which would report that to its makers.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
