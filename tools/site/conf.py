# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes pages of build/site-source, which tools/site/build writes. Pages load nothing from elsewhere."""

import os
import sys

sys.path.insert(0, os.environ["KASIMIR_PYTHON"])

project = "Kasimir"
copyright = "the authors of Kasimir, Apache-2.0"
release = os.environ["KASIMIR_RELEASE"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"Kasimir {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# Titles of sections are places to link to, in the form that repositories' own pages have.
myst_heading_anchors = 4
highlight_language = "none"  # blocks are commands with what they print; those of a language say so
# The package is read, not run: it is documented without having been built.
autodoc_mock_imports = ["kasimir._kasimir", "torch", "numpy", "pandas"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
