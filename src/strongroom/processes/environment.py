"""The environment that commands get: this process' own, but for what would lead git astray."""

from __future__ import annotations

import os
import re
from typing import Final

_REDIRECTS: Final = re.compile(
    "GIT_(ALTERNATE_OBJECT_DIRECTORIES|ATTR_SOURCE|COMMON_DIR|CONFIG|CONFIG_COUNT|CONFIG_PARAMETERS|DIR|GRAFT_FILE|"
    "IMPLICIT_WORK_TREE|INDEX_FILE|INTERNAL_SUPER_PREFIX|NAMESPACE|NO_REPLACE_OBJECTS|OBJECT_DIRECTORY|PREFIX|"
    "QUARANTINE_PATH|REPLACE_REF_BASE|SHALLOW_FILE|WORK_TREE)"
)


def clean_environment() -> dict[str, str]:
    """This process' environment without the ``GIT_*`` variables that point git at another repository or index.

    A git hook sets such variables: without this, git would use the hook's repository from any folder.
    """
    return {name: value for name, value in os.environ.items() if not _REDIRECTS.fullmatch(name)}
