"""What the build of a wheel or a source archive asks first: are the pages in it?

They are made by another tool than pip, and pip shows nothing of what a build says unless it fails. So a package
without them fails, unless whoever builds it says that they want none. An editable install has
them by `make ui`, at any time.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

UNWANTED = "PEGBOARD_WITHOUT_PAGES"


class Pages(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(UNWANTED) == "1":
            return
        if not (Path(self.root) / "src/pegboard/surfaces/web/pages/index.html").is_file():
            raise SystemExit(
                "The package would have no pages, and /ui/ of its gateway nothing to show. Run `make ui` in this "
                f"folder first. If only the library or the API is wanted, say so: {UNWANTED}=1."
            )
