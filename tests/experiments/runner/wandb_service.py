"""A stand-in for the service of Weights & Biases, to which W&B's own `wandb sync` sends a run that it reads."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

RUN = {"id": "1", "name": "run", "displayName": "run", "project": {"name": "p", "entity": {"name": "e"}}}
KEPT = {
    "id": "2",
    "state": "COMMITTED",
    "artifactSequence": {"id": "3", "latestArtifact": {"id": "2", "versionIndex": 0}},
}
UPSERTED = {"upsertBucket": {"bucket": {**RUN, "historyLineCount": 0}, "inserted": True}}


class Service(BaseHTTPRequestHandler):
    """Takes a run: its files by name. What else is asked has an empty answer."""

    files: dict[str, bytes]

    def do_POST(self) -> None:
        asked = json.loads(self.read() or b"{}")
        query = asked.get("query", "")
        if "upsertBucket" in query:
            self.answer({"data": UPSERTED})
        elif "createArtifact(" in query:  # a table, which the service has already
            self.answer({"data": {"createArtifact": {"artifact": KEPT}}})
        elif "createRunFiles" in query:
            names = asked["variables"]["files"]
            address = f"http://{self.headers['Host']}"
            files = [{"name": name, "uploadUrl": f"{address}/{name}"} for name in names]
            self.answer({"data": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": files}}})
        else:
            self.answer({"data": {}})

    def do_PUT(self) -> None:
        self.files[self.path.removeprefix("/")] = self.read()
        self.answer({})

    def read(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Stays silent."""


def sync(run: Path, home: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary and the configuration of an offline run, as W&B's own program reads and sends them."""
    files: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Taking", (Service,), {"files": files}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ours = {"WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}", "WANDB_API_KEY": "0" * 40, "HOME": str(home)}
    ours |= {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    ours |= {f"WANDB_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA")}
    proxies = dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    command = [sys.executable, "-m", "wandb", "sync", str(run)]
    try:
        ended = subprocess.run(
            command,
            env={**plain, **ours, **proxies},
            cwd=home,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
    assert ended.returncode == 0, ended.stderr
    config = yaml.safe_load(files["config.yaml"])
    values = {name: entry["value"] for name, entry in config.items() if name != "_wandb"}
    return json.loads(files["wandb-summary.json"]), values
