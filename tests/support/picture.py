"""A picture of a screen, in a window, as a README shows it."""

import os
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tests.support.screen import Screen, Style

SCALE = 2  # for screens with twice the pixels; a browser halves it elsewhere
FONT_SIZE = 15 * SCALE
LINE = 20 * SCALE
PADDING = 14 * SCALE
BAR = 34 * SCALE
MARGIN = 28 * SCALE  # room for the shadow
RADIUS = 10 * SCALE
BAR_COLOUR = "#23262d"
EDGE_COLOUR = "#3a3f4a"
TITLE_COLOUR = "#9aa0ac"
WRITE_PICTURES = os.environ.get("LSP_COMPLETIONS_WRITE_PICTURES") == "1"
BUTTONS = ("#ec6a5e", "#f4bf4f", "#61c554")


# What is on the pictures: a file, what is typed behind it, and what is suggested then.
SHOP = """from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float
    quantity: int = 1


"""
HEAD = "def total(items: list[Item], discount: float = 0.0) -> float:"
BODY = '''"""What all of it costs, after the discount."""
    subtotal = sum(item.price * item.quantity for item in items)
    return round(subtotal * (1 - discount), 2)'''


def draw(screen: Screen, *, title: str) -> Image.Image:
    """The screen as pixels: a window with a title bar, its corners and its shadow on nothing."""
    text = _text(screen)
    width, height = text.width + 2 * PADDING, text.height + BAR + 2 * PADDING

    window = Image.new("RGBA", (width, height), _hex(screen.background))
    window.paste(text, (PADDING, BAR + PADDING))
    pen = ImageDraw.Draw(window)
    pen.rectangle((0, 0, width, BAR), fill=BAR_COLOUR)
    pen.line((0, BAR, width, BAR), fill=EDGE_COLOUR, width=SCALE)
    pen.text((width / 2, BAR / 2), title, font=_font(), fill=TITLE_COLOUR, anchor="mm")
    for place, colour in enumerate(BUTTONS):
        x, y, r = PADDING + 7 * SCALE + place * 20 * SCALE, BAR / 2, 6 * SCALE
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    box = (MARGIN, MARGIN, MARGIN + width - 1, MARGIN + height - 1)
    size = (width + 2 * MARGIN, height + 2 * MARGIN)
    lower = (box[0], box[1] + 6 * SCALE, box[2], box[3] + 6 * SCALE)
    shadow = Image.new("RGBA", size, (0, 0, 0, 0))
    ImageDraw.Draw(shadow).rounded_rectangle(lower, RADIUS, fill=(0, 0, 0, 90))
    picture = shadow.filter(ImageFilter.GaussianBlur(10 * SCALE))
    corners = Image.new("L", size, 0)
    ImageDraw.Draw(corners).rounded_rectangle(box, RADIUS, fill=255)
    placed = Image.new("RGBA", size)
    placed.paste(window, box[:2])
    picture.paste(placed, (0, 0), corners)
    ImageDraw.Draw(picture).rounded_rectangle(box, RADIUS, outline=EDGE_COLOUR, width=SCALE)
    return picture


def keep(picture: Image.Image, path: Path) -> None:
    """Keep it as a README's, where the environment says so; something has to be on it."""
    assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 10
    if WRITE_PICTURES:
        picture.save(path, optimize=True)


def _text(screen: Screen) -> Image.Image:
    cell = round(_font().getlength("0"))
    size = (cell * len(screen.rows[0]), LINE * len(screen.rows))
    image = Image.new("RGB", size, _hex(screen.background))
    pen = ImageDraw.Draw(image)
    for y, row in enumerate(screen.rows):
        for x, drawn in enumerate(row):
            ink, paper = _colours(screen, drawn.style)
            left, top = x * cell, y * LINE
            if paper != screen.background:
                pen.rectangle((left, top, left + cell - 1, top + LINE - 1), fill=_hex(paper))
            font = _font("-Bold" if drawn.style.bold else "")
            pen.text((left, top + LINE / 2), drawn.text, font=font, fill=_hex(ink), anchor="lm")
            if drawn.style.underline:
                pen.line((left, top + LINE - 3, left + cell, top + LINE - 3), fill=_hex(ink))
    row_, column = screen.cursor
    left, top = column * cell, row_ * LINE
    # A bar as insert mode has it, else a frame: what is below stays readable.
    right = left + (2 * SCALE if screen.cursor_is_bar else cell)
    fill = _hex(screen.foreground) if screen.cursor_is_bar else None
    pen.rectangle((left, top, right, top + LINE - 1), fill=fill, outline=_hex(screen.foreground))
    return image


def _colours(screen: Screen, style: Style) -> tuple[int, int]:
    ink = screen.foreground if style.foreground is None else style.foreground
    paper = screen.background if style.background is None else style.background
    return (paper, ink) if style.reverse else (ink, paper)


def _hex(colour: int) -> str:
    return f"#{colour:06x}"


@cache
def _font(weight: str = "") -> ImageFont.FreeTypeFont:
    """DejaVu Sans Mono, wherever the system keeps it; skips the test where it has none."""
    name = f"DejaVuSansMono{weight}.ttf"
    try:
        return ImageFont.truetype(name, FONT_SIZE)
    except OSError:
        pytest.skip(f"{name} is not installed")
