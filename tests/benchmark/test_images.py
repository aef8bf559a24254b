"""Pictures that need no page: each address holds a whole SVG, style and all."""

import base64
from xml.etree import ElementTree

from modelpivot.benchmark.images import draw_images
from modelpivot.benchmark.pictures import Group, LoadCurve, LoadPoint, Page, Span, Trend

SVG = "{http://www.w3.org/2000/svg}"
PAGE = Page(
    title="t",
    lead="l",
    spans=[Span('fetch > verify & "patch"', 0.0, 3.0, "done")],
    curves=[LoadCurve(name, [LoadPoint(1, 50.0, 20.0), LoadPoint(8, 300.0, 27.0)]) for name in ("1.0", "1.1")],
    trends=[Trend("chat: speed", "tokens/s", [Group("1.0", [59.0, 61.0], 60.0, 0.05), Group("1.1", [62.0], 62.0, None)])],
)


def test_every_picture_of_a_page_is_an_image_of_its_own() -> None:
    """Well-formed SVG with its own width, style and every colour that it names; curves are told apart in words."""
    images = draw_images(PAGE)
    assert [image.title for image in images] == ["The run on a time line", "Throughput against latency", "chat: speed"]
    for image in images:
        head, _, content = image.address.partition(",")
        root = ElementTree.fromstring(base64.b64decode(content))
        style = root.find(f"{SVG}style")
        assert head == "data:image/svg+xml;base64" and root.tag == f"{SVG}svg" and root.get("width") == "760"
        assert style is not None and "--s0" in str(style.text)
    assert images[1].words.endswith("blue: 1.0; orange: 1.1")


def test_a_page_without_pictures_has_none() -> None:
    """Nothing measured, nothing timed."""
    assert draw_images(Page(title="t", lead="l")) == []
