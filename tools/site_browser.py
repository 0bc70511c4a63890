# Tries the documentation's site in a headless Chromium: search, navigation, layout, page heads and errors; used by tools/docs.
"""check(html, pictures) returns the faults it found. The site is served from this machine, and Chromium is driven through its
DevTools protocol, so the only package besides Chromium is websocket-client."""
import base64
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HOME, ERRORS = "docs/site/index.html", "docs/errors.html"
OPERATOR, API = "src/ops/apply_fused_ema_adam/README.html", "docs/site/c/operators/aclnnApplyFusedEmaAdam.html"
CHINESE = "docs/zh/porting.html"
WIDTHS = (1280, 400)
# query: the address that must come first, below the root of the site
SEARCHES = {
    "507035": f"{ERRORS}#code-507035",
    "161002": f"{ERRORS}#code-161002",
    "ACLNN_ERR_PARAM_INVALID": f"{ERRORS}#code-161002",
    "移植": CHINESE,
}

# What leaves the window without a way to scroll to it: the page itself, or parts of it that are cut off.
OVERFLOW = """(() => {
  const found = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  for (const one of document.querySelectorAll("article pre, article table, article img, article svg, article p, article dt, article h1")) {
    const box = one.getBoundingClientRect();
    if (box.width === 0) continue;
    let holder = one;
    while (holder && !scrolls(holder)) holder = holder.parentElement;
    const name = `${one.tagName.toLowerCase()} "${one.textContent.trim().slice(0, 40)}"`;
    if (!holder && (box.right > width + 1 || box.left < -1)) found.push(`${name} ends at ${Math.round(box.right)}`);
    const room = one.matches("table") && holder ? holder : one;  // a table's wrapper scrolls
    if (room.scrollWidth > room.clientWidth + 1) found.push(`${name} needs ${room.scrollWidth} pixels but has ${room.clientWidth}`);
  }
  return found;
})()"""
HEAD = """(() => {
  const missing = ["meta[name=description]", "meta[property='og:title']", "meta[property='og:image']", "link[rel~=icon]"];
  return missing.filter((one) => !document.head.querySelector(one));
})()"""


class Page:
    """A tab of Chromium; collects errors of the console, of scripts and of loading."""

    def __init__(self, address):
        import websocket
        self.socket = websocket.create_connection(address, timeout=120, suppress_origin=True)
        self.count, self.events, self.errors = 0, [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def note(self, message):
        kind, about = message["method"], message["params"]
        self.events.append(kind)
        if kind == "Runtime.exceptionThrown":
            self.errors.append(about["exceptionDetails"].get("exception", {}).get("description", about["exceptionDetails"]["text"]))
        elif kind == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.errors.append(" ".join(str(one.get("value", "")) for one in about["args"]))
        elif kind == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")

    def call(self, method, **parameters):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.note(message)

    def evaluate(self, script):
        made = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in made:
            raise RuntimeError(made["exceptionDetails"]["exception"]["description"])
        return made["result"].get("value")

    def wait(self, script, seconds=60):
        """The value of a script as soon as it is true; None if it never is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(script)
            if value:
                return value
            time.sleep(0.05)
        return None

    def open(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        while "Page.loadEventFired" not in self.events:
            self.note_next()

    def note_next(self):
        message = json.loads(self.socket.recv())
        if "method" in message:
            self.note(message)

    def show(self, width, theme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def take_errors(self):
        taken, self.errors = self.errors, []
        return taken


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A page that the browser leaves while it loads is not an error."""


class Browser:
    """Chromium with one tab, and a server of a folder; ends both."""

    def __init__(self, folder):
        self.server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_port}/"
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # Containers often have no namespaces for the sandbox and a small /dev/shm. The pages are the project's own.
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
             f"--user-data-dir={self.profile.name}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file, end = pathlib.Path(self.profile.name) / "DevToolsActivePort", time.monotonic() + 120
        while not (port_file.exists() and port_file.read_text().strip()):
            if time.monotonic() > end or self.process.poll() is not None:
                self.close()
                raise RuntimeError("Chromium did not start")
            time.sleep(0.1)
        port = port_file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        self.page = Page(target["webSocketDebuggerUrl"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.server.shutdown()
        self.profile.cleanup()


def missing_reason():
    """Why the check cannot run, or None."""
    if not shutil.which("chromium"):
        return "Chromium isn't installed; ./dev setup browser installs it"
    return None


def check_searches(browser, html):
    page, found = browser.page, []
    first = "document.querySelector('#search-results li a')?.href"
    done = "document.querySelector('.search-summary, #search-summary')?.innerText.includes('finished') && " + first
    for root in (f"{html.as_uri()}/", browser.root):
        for query, wanted in SEARCHES.items():
            page.open(f"{root}search.html?{urllib.parse.urlencode({'q': query})}")
            address = page.wait(done, 30) or "no result"
            if address != root + wanted:
                found.append(f"a search for {query} in {root} finds {address} first; expected: {wanted}")
        if root != browser.root:
            page.take_errors()  # without a server, Chromium refuses to load the pages that results quote
    page.open(browser.root + ERRORS + "#code-507035")
    if page.evaluate("document.querySelector('tr:target')?.cells[0].innerText") != "507035":
        found.append("no row of the errors page has the anchor code-507035")
    return found


def follow(browser, what, script, wanted):
    """Runs a script that leads to another page; returns a fault if that is not the one wanted."""
    browser.page.evaluate(script)
    if browser.page.wait(f"location.href.includes({json.dumps(wanted)}) && document.readyState === 'complete'", 30):
        return []
    return [f"{what} leads to {browser.page.evaluate('location.href')}; expected: {wanted}"]


def check_navigation(browser):
    page, found = browser.page, []
    for wanted in ("docs/ci.html", "docs/pytorch.html", "docs/site/c/operators.html"):
        page.open(browser.root + HOME)
        name = json.dumps(f".sd-card a[href*='{os.path.basename(wanted)}']")
        found += follow(browser, "a card of the home page", f"document.querySelector({name})?.click()", wanted)
    found += follow(browser, "the list of operators", "document.querySelector('article a[href*=aclnnApplyFusedEmaAdam]').click()", API)
    page.open(browser.root + OPERATOR)
    found += follow(browser, "the link to a header", "document.querySelector('article a[href*=aclnnApplyFusedEmaAdam]').click()", API)
    page.open(browser.root + OPERATOR)
    found += follow(browser, "the link to a source", "document.querySelector(\"article a[href*='math.h']\").click()", "math.h.html")
    page.open(browser.root + HOME)
    found += follow(browser, "the search field", "(() => { const field = document.querySelector('.sidebar-search'); field.value = '507035'; "
                    "field.form.submit(); })()", "search.html?q=507035")
    page.open(browser.root + "docs/quickstart.html")
    if not page.wait("document.querySelectorAll('button.copybtn').length", 30):
        found.append("docs/quickstart.html has no buttons that copy code")
    page.open(browser.root + API)
    if not page.evaluate("document.querySelectorAll('table.parameters').length === 2"):
        found.append(f"{API} lacks the tables of its parameters")
    return found


def check_pages(browser, html):
    page, found = browser.page, []
    for path in sorted(html.rglob("*.html")):
        name = path.relative_to(html).as_posix()
        if name == "index.html" or name.startswith("_"):
            continue
        page.show(WIDTHS[0], "light")
        page.open(browser.root + name)
        for width in WIDTHS:
            page.show(width, "light")
            found += [f"{name} at {width} pixels: {fault}" for fault in page.evaluate(OVERFLOW)]
        if not name.startswith(("code/", "bench/results/", "genindex", "search", "py-modindex")):  # no text that describes them
            found += [f"{name} has no {part}" for part in page.evaluate(HEAD)]
        language = "zh-CN" if name.startswith("docs/zh/") or name.endswith(".zh-CN.html") else "en"
        if page.evaluate("document.documentElement.lang") != language:
            found.append(f"{name}: lang isn't {language}")
        found += [f"{name}: {error}" for error in page.take_errors()]
    return found


def take_pictures(browser, folder):
    """Pictures of the main pages in both widths and themes, for people; a theme may also break the layout."""
    found = []
    for name, address in {"home": HOME, "operator": OPERATOR, "api": API, "errors": ERRORS, "chinese": CHINESE,
                          "search": "search.html?q=507035"}.items():
        for width in WIDTHS:
            for theme in ("light", "dark"):
                browser.page.show(width, theme)
                browser.page.open(browser.root + address)
                browser.page.picture(folder / f"{name}-{width}-{theme}.png")
                found += [f"{address} at {width} pixels, {theme}: {fault}" for fault in browser.page.evaluate(OVERFLOW)]
    return found


def check(html, pictures):
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    browser = Browser(html)
    try:
        found = check_searches(browser, html) + check_navigation(browser)
        found += [f"console: {error}" for error in browser.page.take_errors()]
        found += take_pictures(browser, pictures)
        return found + check_pages(browser, html)
    finally:
        browser.close()
