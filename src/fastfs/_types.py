"""Types that many modules name."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


Progress = Callable[[str, float], object]
