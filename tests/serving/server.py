"""A server of its own for a script, and the client that talks to it."""

import importlib.util
import pathlib
import signal
import subprocess
import threading
import time

spec = importlib.util.spec_from_file_location(
    "client", pathlib.Path(__file__).resolve().parent / "../../python/curnm/_client.py")
client_module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client_module)
Client = client_module.Client


class Server:
    def __init__(self, curnm, model, data, state, *options):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [curnm, "serve", model, "--data", data, "--listen", "127.0.0.1:0", "--state", state,
             *options], stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("serving "):
                self.url = line.split(" on ")[1].split("/, state")[0]
                break
        else:
            raise SystemExit("the server did not start: " + "".join(said))
        self.start_seconds = time.monotonic() - self.begin
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)
