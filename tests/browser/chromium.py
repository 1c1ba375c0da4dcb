"""A real headless Chromium, driven by chromedriver's own protocol: a few requests, so no library is needed for them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--proxy-server=http://127.0.0.1:9",  # where nobody listens: Chromium itself would ask for updates and time
    "--proxy-bypass-list=<-loopback>",
    "--window-size=1400,1000",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name for a reference to an element
KEYS = {"Tab": "\ue004", "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010", "Home": "\ue011"}
KEYS |= {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Shift": "\ue008"}


class Browser:
    """One window. Its pages may ask for what they like: it is noted, and nothing leaves the machine."""

    def __init__(self, profile: Path) -> None:
        self._root = ""
        self._reader: threading.Thread | None = None
        driver = shutil.which("chromedriver")
        binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        assert driver, "chromedriver is missing: run make test-browser, or install chromium-driver"
        assert binary, "chromium is missing: run make test-browser, or install chromium"
        self._process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            self._begin(binary, profile)
        except BaseException:
            self.close()
            raise

    def _begin(self, binary: str, profile: Path) -> None:
        assert self._process.stdout is not None
        port = next(
            found[1] for line in self._process.stdout if (found := re.search(r"successfully on port (\d+)", line))
        )
        self._reader = threading.Thread(target=self._process.stdout.read, daemon=True)  # so that the pipe never fills
        self._reader.start()
        self._root = f"http://127.0.0.1:{port}"
        options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        session = self._request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self._root += f"/session/{session}"

    def close(self) -> None:
        if "/session/" in self._root:
            self._request("DELETE", "", None)
        self._process.terminate()
        self._process.wait(10)
        if self._reader:
            self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def open(self, page: Path) -> None:
        self._request("POST", "/url", {"url": page.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script returns, or what its promise becomes."""
        return self._request("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_until(self, condition: str) -> None:
        """Wait for an expression to be true; the protocol's own limit ends a wait for ever."""
        look = f"const look = () => ({condition}) ? done(true) : setTimeout(look, 20)"
        assert self.run(f"return new Promise(done => {{ {look}; look(); }})")

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y), "origin": "viewport"}
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}
        self._request("POST", "/actions", {"actions": [mouse]})

    def click(self, selector: str) -> None:
        found = self._request("POST", "/element", {"using": "css selector", "value": selector})
        self._request("POST", f"/element/{found[ELEMENT]}/click", {})

    def press(self, *keys: str, holding: str | None = None) -> None:
        """Type keys where the focus is."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        if holding:
            held = KEYS[holding]
            actions = [{"type": "keyDown", "value": held}, *actions, {"type": "keyUp", "value": held}]
        self._request("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def prefer(self, scheme: str) -> None:
        """Light or dark, once the page knows: it is told when the next frame is drawn, before those who wait for it."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        command = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}}
        self._request("POST", "/goog/cdp/execute", command)
        self.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def screenshot(self) -> str:
        """A picture of the window, PNG in base64."""
        picture: str = self._request("GET", "/screenshot", None)
        return picture

    def complaints(self) -> list[str]:
        """Errors that the console was told of since the last call."""
        entries = self._request("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """What pages asked for since the last call."""
        events = [
            json.loads(entry["message"])["message"]
            for entry in self._request("POST", "/se/log", {"type": "performance"})
        ]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def _request(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None
