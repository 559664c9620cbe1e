#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clicks through pages of recorded runs in a headless Chromium.

    EDDY=build/eddy scripts/test_viewer.py [FOLDER]

Records a few graphs, opens their pages, and looks in every view for what must
be there.  Chromium is driven through its remote debugging over a WebSocket
(RFC 6455), spoken here with what Python comes with.  Exits with 77 where there
is no Chromium.
"""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

EDDY = os.environ.get("EDDY", "build/eddy")
CASES = "tests/conformance/tf/"


class Socket:
    """A WebSocket to one page: commands go out, replies come back."""

    def __init__(self, url):
        host, _, path = url[len("ws://"):].partition("/")
        name, _, port = host.partition(":")
        self.s = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n"
                        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Key: {key}\r\n"
                        "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.held = b""
        while b"\r\n\r\n" not in self.held:
            self.held += self.s.recv(4096)
        self.held = self.held.split(b"\r\n\r\n", 1)[1]
        self.id = 0
        self.errors = []

    def take(self, n):
        while len(self.held) < n:
            more = self.s.recv(1 << 16)
            if not more:
                raise EOFError("the browser has closed the page")
            self.held += more
        taken, self.held = self.held[:n], self.held[n:]
        return taken

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            n = second & 127
            if n == 126:
                n, = struct.unpack(">H", self.take(2))
            elif n == 127:
                n, = struct.unpack(">Q", self.take(8))
            text += self.take(n)
            if first & 128:
                return json.loads(text)

    def call(self, method, **params):
        self.id += 1
        data = json.dumps({"id": self.id, "method": method,
                           "params": params}).encode()
        mask = os.urandom(4)
        head = b"\x81" + (struct.pack(">BH", 254, len(data))
                          if len(data) > 125 else bytes([128 | len(data)]))
        self.s.sendall(head + mask + bytes(
            b ^ mask[i % 4] for i, b in enumerate(data)))
        while True:
            reply = self.receive()
            if reply.get("method") == "Runtime.exceptionThrown":
                self.errors.append(reply["params"]["exceptionDetails"])
            if reply.get("method") == "Log.entryAdded":
                self.errors.append(reply["params"]["entry"])
            if reply.get("id") == self.id:
                return reply["result"]

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result}")
        return result["result"].get("value")


class Browser:
    def __init__(self, program, folder):
        shutil.rmtree(f"{folder}/profile", ignore_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-port=0", "--window-size=1600,1000",
             f"--user-data-dir={folder}/profile", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = os.path.join(folder, "profile", "DevToolsActivePort")
        for _ in range(300):
            if os.path.exists(port) and open(port).read().strip():
                break
            time.sleep(0.1)
        self.base = "http://127.0.0.1:" + open(port).read().split()[0]

    def open(self, path):
        request = urllib.request.Request(
            self.base + "/json/new?about:blank", method="PUT")
        page = Socket(json.load(urllib.request.urlopen(request))
                      ["webSocketDebuggerUrl"])
        for domain in ("Runtime", "Log", "Page"):
            page.call(domain + ".enable")
        page.call("Page.navigate", url="file://" + os.path.abspath(path))
        for _ in range(600):
            if page.ask("document.body && document.body.dataset.ready"):
                return page
            time.sleep(0.1)
        raise AssertionError(f"{path} is not ready: {page.errors}")

    def close(self):
        self.process.terminate()
        self.process.wait()


def record(graph, arguments, page):
    subprocess.run([EDDY, "trace", graph, *arguments, "-o", page], check=True,
                   stdout=subprocess.DEVNULL)


def want(condition, what):
    if not condition:
        raise AssertionError(what)


def press(page, key):
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key,
                  text=key if len(key) == 1 else "")


def click(page, selector):
    """With the mouse, in the middle of an element."""
    box = page.ask(
        "(() => { const e = document.querySelector(%s);"
        " e.scrollIntoView({block: 'center'});"
        " const r = e.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        % json.dumps(selector))
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1],
                  button="left", clickCount=1)


def painted(page, canvas):
    """Is there something on a canvas?"""
    return page.ask(
        "(() => { const c = document.getElementById(%s);"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
        " return d.data.some(x => x); })()" % json.dumps(canvas))


def crossings(page):
    """Edges between nodes that are drawn, and how many cross one."""
    return page.ask(
        "(() => { const rs = [...document.querySelectorAll('g.node rect')]"
        ".map(r => r.getBBox()); let n = 0;"
        " const ways = edgeEls.filter(e => !visible.get(e[0]).closed &&"
        " !visible.get(e[2]).closed);"
        " for (const e of ways) { const p = e[5], l = p.getTotalLength();"
        " let hit = false; for (let i = 0; i <= 80; i++) {"
        " const q = p.getPointAtLength(l * i / 80);"
        " hit = hit || rs.some(r => q.x > r.x + 2 && q.x < r.x + r.width - 2"
        " && q.y > r.y + 2 && q.y < r.y + r.height - 2); } n += hit; }"
        " return [ways.length, n]; })()")


def click_through(page):
    n = page.ask("N")
    edges, crossed = crossings(page)
    want(edges > 30 and crossed == 0, f"{crossed} of {edges} edges cross nodes")
    want(n > 300, f"{n} records")
    want(page.ask("cur") == n - 1, "the last token is picked")
    press(page, "Home")
    want(page.ask("cur") == 0, "Home")
    for _ in range(5):
        press(page, "ArrowRight")
    want(page.ask("cur") == 5, "arrows")
    want(page.ask("document.querySelectorAll('g.node.live').length") > 3,
         "live nodes in the graph")
    page.ask("go([...R.state].findIndex((s, i) => s === 1 &&"
             " nodes[R.node[i]].op === 'NextIteration'))")
    want(page.ask("document.querySelectorAll('#why li').length") > 1,
         "a chain of what died")
    want("chose output" in page.ask("document.getElementById('whyend')"
                                    ".textContent"), "its Switch")
    want(page.ask("document.querySelectorAll('g.node.why').length") > 1,
         "the chain in the graph")
    click(page, "#why li:last-child a")
    want(page.ask("nodes[R.node[cur]].kind") == 2, "a click on the Switch")
    click(page, "g.node.live rect")
    want(page.ask("document.querySelectorAll('#runs tr').length") > 1,
         "executions of the node that was clicked")
    for key, canvas in (("2", "wcanvas"), ("3", "tcanvas"), ("5", "mcanvas")):
        press(page, key)
        want(painted(page, canvas), canvas)
    click(page, "nav [data-view=tape]")
    want(page.ask("pairs.length") == 8, "pairs of the tape")
    want(page.ask("document.querySelectorAll('#tape tr.go').length") == 8,
         "rows of the tape")
    want(page.ask("pairs.every(p => p[0] >= 0 && p[1] > p[0])"),
         "pushes before pops")
    click(page, "nav [data-view=table]")
    click(page, "[data-sort=count]")
    want(page.ask("document.querySelectorAll('#table tr.go').length") > 50,
         "rows of nodes")
    press(page, "1")
    click(page, "#play")
    page.ask("go(3, true)")
    time.sleep(1)
    want(page.ask("cur") > 3, "play")
    page.ask("stop()")
    dead = page.ask("[...R.state].every((s, i) => { if (s !== 1) return true;"
                    " const c = whyDead(i), e = c[c.length - 1].i;"
                    " return R.state[e] === 0 &&"
                    " nodes[R.node[e]].kind === 2; })")
    want(dead, "every chain ends in a live Switch")


def overflowing(page):
    """What is wider than the box that it is in, or ends beyond the window."""
    return page.ask(
        "(() => { const wide = [], name = e => e.tagName +"
        " (e.id ? '#' + e.id : '') + ' ' + e.textContent.slice(0, 30);"
        " const say = (e, a, b) => { if (a > b + 1)"
        " wide.push(name(e) + ' ' + a + ' > ' + b); };"
        " say(document.body, document.documentElement.scrollWidth,"
        " innerWidth);"
        " say(document.body, document.documentElement.scrollHeight,"
        " innerHeight);"
        " for (const e of document.querySelectorAll('header, nav, aside'))"
        " say(e, e.scrollWidth, e.clientWidth);"
        " for (const box of document.querySelectorAll('header, nav, aside')) {"
        " const s = getComputedStyle(box), r = box.getBoundingClientRect();"
        " const end = r.left + box.clientLeft + box.clientWidth"
        " - parseFloat(s.paddingRight);"
        " for (const e of box.querySelectorAll('*'))"
        " say(e, e.getBoundingClientRect().right, end); }"
        " return wide; })()")


def check_widths(page):
    """Nothing sticks out, however wide the window is, in light and dark."""
    records = [0, page.ask("[...R.state].indexOf(1)"), page.ask("cur"),
               page.ask("[...Array(N).keys()].reduce((a, b) => where(a).length"
                        " > where(b).length ? a : b)")]
    for width in (1280, 1600):
        page.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=800, deviceScaleFactor=1, mobile=False)
        for scheme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": scheme}])
            for key in "123456":
                press(page, key)
                for record in records:
                    page.ask(f"go({record})")
                    wide = overflowing(page)
                    want(not wide, f"view {key}, {scheme}, {width} wide, "
                         f"record {record}: {wide[:9]}")
    page.call("Emulation.clearDeviceMetricsOverride")
    press(page, "1")


def check_gradient(browser, folder):
    case = CASES + "gradients/cond_in_while/"
    graph, path = folder + "/grad.pb", folder + "/grad.html"
    x = subprocess.run(
        [EDDY, "grad", case + "graph.pb", "--ys", "loss:0", "--xs", "x:0",
         "-o", graph], check=True, capture_output=True, text=True)
    record(graph, ["--feed", f"x=@{case}in_0_x.npy", "--feed",
                   f"n=@{case}in_0_n.npy", "--fetch", "loss:0", "--fetch",
                   x.stdout.split()[1]], path)
    want(os.path.getsize(path) <= 60 << 10,
         f"a page of {os.path.getsize(path)} bytes")
    page = browser.open(path)
    click_through(page)
    check_widths(page)
    want(not page.errors, f"errors in the page: {page.errors}")


def check_large(browser, folder):
    """Of a run of more than 100,000 tokens the first and the last are there."""
    path = folder + "/large.html"
    case = CASES + "while/long_run/"
    with open(case + "case.json") as f:
        run = json.load(f)["runs"][0]
    arguments = []
    for feed, file in run["feeds"].items():
        arguments += ["--feed", f"{feed}=@{case}{file}"]
    for fetch in run["fetches"]:
        arguments += ["--fetch", fetch]
    record(case + "graph.pb", arguments, path)
    size = os.path.getsize(path)
    page = browser.open(path)
    ready = int(page.ask("document.body.dataset.ready"))
    print(f"  {page.ask('N')} records in {size} bytes, drawn after {ready} ms")
    want(size <= 2500000, f"a page of {size} bytes")
    want(page.ask("N") == 100000, f"{page.ask('N')} records")
    want("the first 50000" in page.ask("document.getElementById('cut')"
                                       ".textContent"), "what is left out")
    for key in "2356":
        press(page, key)
    want(painted(page, "wcanvas"), "the wavefront")
    check_widths(page)
    want(not page.errors, f"errors in the page: {page.errors}")


def check_ranks(browser, folder):
    """Ranks in one page: a lane each, and a line for each message."""
    path = folder + "/ranks.html"
    record(CASES + "while/count/graph.pb",
           ["--feed", "n=-9", "--fetch", "y", "--ranks", "3", "--seed", "4",
            "--literal"],
           path)
    page = browser.open(path)
    want(page.ask("new Set(G.ranks).size") == 3, "three ranks")
    want(page.ask("laneName(2)") == "rank 2", "a lane a rank")
    want(page.ask("messages.length") > 10, "messages")
    want(page.ask("messages.every(([a, b]) => nodes[R.node[a]].rank !=="
                  " nodes[R.node[b]].rank && nodes[R.node[b]].op === '_Recv')"),
         "messages from one rank to another")
    want(page.ask("[...R.worker].every((w, i) => G.ranks[w] ==="
                  " nodes[R.node[i]].rank)"), "records in their rank's lane")
    press(page, "3")
    want(painted(page, "tcanvas"), "the timeline")
    page.ask("go(messages[3][1])")
    want("sent by rank" in page.ask("document.getElementById('message')"
                                    ".textContent"), "who sent it")
    page.ask("document.querySelector('#message a').click()")
    want(page.ask("cur === messages[3][0]"), "a click on who sent it")
    press(page, "1")
    want(page.ask("document.querySelectorAll('g.node path').length") > 30,
         "nodes with the colour of their rank")
    check_widths(page)
    want(not page.errors, f"errors in the page: {page.errors}")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("there is no Chromium; `make test-viewer` installs it")
        return 77
    folder = tempfile.mkdtemp() if len(sys.argv) < 2 else sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    browser = Browser(program, folder)
    try:
        check_gradient(browser, folder)
        check_large(browser, folder)
        check_ranks(browser, folder)
    finally:
        browser.close()
        if len(sys.argv) < 2:
            shutil.rmtree(folder, ignore_errors=True)
    print("the viewer: all views are as they must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
