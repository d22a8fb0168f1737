"""What is linked to torch, which has to be there first. Loading both takes longer than all else, so this
is imported where it is needed."""

import torch  # noqa: F401

from . import _learning  # noqa: F401
