# Elements of SVG pictures.
from xml.sax.saxutils import escape

OURS, REFERENCE, INK, FAINT = "#2f6f9f", "#b0b0b0", "#222222", "#8a8a8a"


def text(x, y, what, **style):
    given = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(what)}</text>'


def bar(x, y, width, height, fill, opacity=1.0):
    faded = f' opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<rect x="{x:.1f}" y="{y:g}" width="{max(width, 0):.1f}" height="{height:g}" fill="{fill}"{faded}/>'


def line(x1, y1, x2, y2, stroke=INK, **style):
    given = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{given}/>'


def path(points, stroke, **style):
    given = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{stroke}"{given}/>'


def picture(width, height, title, source, parts):
    """Returns a file with a white background. `source` names the results that it shows."""
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" fill="{INK}">',
            f"<!-- made by ./dev bench from {source} -->", f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    return "\n".join([*head, *parts, "</svg>"]) + "\n"
