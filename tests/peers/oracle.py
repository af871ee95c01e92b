"""Reads datagrams with the PyPI package twnet_parser, which shares nothing with this project.

usage: python oracle.py < datagrams > readings

A line of input is a JSON object: `seven` (whether the bytes are of 0.7), `c2s` (whether a client sent them) and `hex`.
A line of output is what the package says of them: `ack`, `chunks`, `flags`, `token`, and `messages`, each with `layer`,
`id`, `uuid`, `vital`, `resend`, `seq`, `hex`, `name` and `fields`, or `error` in place of what could not be had.

Only where a chunk ends is decided here, by the size that the package reads from its header: the package itself gives each
message the whole rest of the datagram.
"""

import importlib
import json
import pkgutil
import sys
import uuid

import twnet_parser.messages_ddnet.game as extended_game
import twnet_parser.messages_ddnet.system as extended_system
from twnet_parser import huffman
from twnet_parser.ddnet_uuid_manager import get_ddnet_uuid_manager
from twnet_parser.message_parser import MessageParser
from twnet_parser.packer import Unpacker
from twnet_parser.packet import ChunkHeaderParser, PacketHeaderParser6, PacketHeaderParser7, parse6, parse7

# What every message of the package has beside its fields.
# `snapshot` is what it unpacks from the field `data`.
NOT_A_FIELD = ("message_type", "message_name", "system_message", "message_id", "header", "snapshot")


def classes_of_extended_messages():
    """Classes by the number that the package gives to a UUID."""
    found = {}
    for package in (extended_game, extended_system):
        for entry in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            module = importlib.import_module(entry.name)
            for name, thing in vars(module).items():
                if isinstance(thing, type) and name.startswith("Msg"):
                    found[thing(None).message_id] = thing
    return found


EXTENDED = classes_of_extended_messages()
UUIDS = get_ddnet_uuid_manager()


def as_json(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    return value


def told(message):
    """The name and the fields of a message of the package."""
    fields = {name: as_json(value) for name, value in dict(message).items() if name not in NOT_A_FIELD}
    # Read, but left out of the list.
    if hasattr(message, "data_size"):
        fields["data_size"] = message.data_size
    return {"name": message.message_name, "fields": fields}


def failure(error):
    return f"{type(error).__name__}: {error}"[:300]


def extended_message(header, identity, body):
    known = UUIDS.find_uuid(identity)
    if known is None:
        raise LookupError("unknown UUID")
    message = EXTENDED[known.type_id](header)
    message.unpack(body)
    return message


def read_message(seven, header, data):
    vital = bool(header.flags.vital)
    out = {
        "vital": vital,
        "resend": bool(header.flags.resend),
        "seq": header.seq if vital else None,
        "hex": data.hex(),
    }
    try:
        unpacker = Unpacker(data)
        number = unpacker.get_int()
        is_system, number = number & 1 == 1, number >> 1
        body = unpacker.get_raw()
        out.update(layer="system" if is_system else "game", id=number, uuid=None)
        if number == 0 and len(body) >= 16:
            identity = uuid.UUID(bytes=body[:16])
            out["uuid"] = str(identity)
            message = extended_message(header, identity, body[16:])
        else:
            parser = MessageParser()
            parse = parser.parse_sys_message if is_system else parser.parse_game_message
            message = parse("0.7" if seven else "0.6", number, body, header)
        out.update(told(message))
    except Exception as error:  # Whatever the package trips over is its answer.
        out["error"] = failure(error)
    return out


def read_whole(seven, c2s, data):
    """The one message of a control packet or of a datagram outside a connection."""
    return (parse7 if seven else parse6)(data, we_are_a_client=not c2s).messages[0]


def read_datagram(seven, c2s, data):
    header = (PacketHeaderParser7 if seven else PacketHeaderParser6)().parse_header(data)
    flags = header.flags
    out = {"messages": []}
    if flags.connless or flags.control:
        message = {"layer": "connless" if flags.connless else "control"}
        try:
            message.update(told(read_whole(seven, c2s, data)))
        except Exception as error:
            message["error"] = failure(error)
        out["messages"].append(message)
        if flags.connless:
            return out
    names = [name for name in ("control", "resend", "compression") if getattr(flags, name)]
    out.update(ack=header.ack, chunks=header.num_chunks, flags=names)
    if flags.control:
        return out
    has_token = seven or flags.token
    clear = data[7 if has_token else 3 :]
    if flags.compression:
        clear = huffman.decompress(clear)
    chunks = ChunkHeaderParser()
    parse_header = chunks.parse_header7 if seven else chunks.parse_header6
    at = 0
    for _ in range(header.num_chunks):
        chunk = parse_header(clear[at:])
        start = at + (3 if chunk.flags.vital else 2)
        at = start + chunk.size
        out["messages"].append(read_message(seven, chunk, clear[start:at]))
    out["left"] = clear[at:].hex()
    return out


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = read_datagram(asked["seven"], asked["c2s"], bytes.fromhex(asked["hex"]))
        except Exception as error:
            answer = {"error": failure(error), "messages": []}
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
