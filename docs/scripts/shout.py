#!/usr/bin/env python3
"""usage: shout.py SOCKET

Holds what players write in the chat of a run with --control SOCKET, puts it into capitals and releases it.
Ends with the run.
"""
import json
import socket
import sys


class Control:
    """A connection to the control socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile(encoding="utf-8")
        self.last = 0
        self.events = []

    def command(self, cmd, **fields):
        """Sends a command and returns its answer; events that come before it are kept."""
        self.last += 1
        line = json.dumps({"id": self.last, "cmd": cmd, **fields})
        self.socket.sendall(line.encode() + b"\n")
        for line in self.lines:
            event = json.loads(line)
            if event["event"] == "answer":
                if not event["done"]:
                    raise RuntimeError(f"{cmd}: {event['why']}")
                return event
            self.events.append(event)
        raise RuntimeError(f"{cmd}: the run has ended")

    def next_event(self):
        """Returns the next event; None at the end of the run."""
        if self.events:
            return self.events.pop(0)
        line = self.lines.readline()
        return json.loads(line) if line else None


def main(path):
    control = Control(path)
    # Notices come whatever the filter is; this one shows few messages.
    control.command("subscribe", filter="cl_say")
    control.command("rule_add", text="shout: pause max 5s when cl_say")
    print("ready", flush=True)
    while event := control.next_event():
        if event["event"] != "notice" or event["kind"] != "held" or event["rule"] != "shout":
            continue
        place = {"session": event["session"], "dir": event["dir"], "held": event["held"]}
        for held in control.command("held", session=event["session"])["held"]:
            if (held["dir"], held["held"]) == (event["dir"], event["held"]):
                text = held["fields"]["message"].upper()
                control.command("edit", **place, fields={"message": text})
                control.command("release", **place)
                print(text, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
