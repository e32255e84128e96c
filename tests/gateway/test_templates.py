"""Which URIs have the form of a template: enough to find the server that answers for them."""

import pytest

from pegboard.gateway.resources import MAX_URI_CHARS, fits_template


@pytest.mark.behaviour("offers.read")
@pytest.mark.parametrize(
    ("template", "uri", "fitting"),
    [
        ("test://{id}/data", "test://7/data", True),
        ("test://{id}/data", "test://7/8/data", False),
        ("test://{id}/data", "test://7/date", False),
        ("file:///{+path}", "file:///a/b/c.txt", True),
        ("x://search{?q,limit}", "x://search?q=a&limit=3", True),
        ("x://größe/{id}", "x://größe/7", True),
        # Beyond what can be read: by its beginning and its end.
        ("x://{a}{b}/end", "x://anything/end", True),
        ("x://{a}{b}/end", "x://anything", False),
        ("{everything", "x://anything", False),
        ("plain://uri", "plain://uri", True),
        ("plain://uri", "plain://other", False),
        ("test://{id}", "test://" + "x" * MAX_URI_CHARS, False),
    ],
)
def test_a_uri_fits_a_template_by_its_form(template: str, uri: str, fitting: bool) -> None:
    assert fits_template(template, uri) is fitting
