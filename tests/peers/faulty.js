// usage: node faulty.js HOST PORT NAME FAULT
// The npm client `teeworlds` with one fault, as authors of clients make them. Says `connected` when it is in the game, and ends after
// some seconds with 0, with 3 when the server ended it before, with 4 on an unknown fault.
'use strict';
const { Client } = require('teeworlds');

const [host, port, name, fault] = process.argv.slice(2);
const client = new Client(host, Number(port), name);

// The first bytes of messages: twice the id, plus one for those of the engine.
const INFO = 3;
const READY = 29;
const ENTER_GAME = 31;
const START_INFO = 40;
const INPUT = 33;

// Changes each message before it gets a header; undefined leaves it out.
let onMessage = (message) => message;
// Changes each datagram of messages before it leaves.
let onDatagram = (bytes) => bytes;

const id = (message) => message.buffer[0];
const leftOut = (wanted) => { onMessage = (message) => (id(message) === wanted ? undefined : message); };
const cut = (message, length) => { message.result = message.result.subarray(0, length); return message; };
const withAck = (bytes, ack) => {
  bytes[0] = (bytes[0] & 0xfc) | ((ack >> 8) & 3);
  bytes[1] = ack & 0xff;
  return bytes;
};
// True once the client is in the game.
let isPlaying = false;
const ackOf = (bytes) => ((bytes[0] & 3) << 8) | bytes[1];

const faults = {
  'none': () => {},
  'no-info': () => leftOut(INFO),
  'no-ready': () => leftOut(READY),
  'no-start-info': () => leftOut(START_INFO),
  'no-enter-game': () => leftOut(ENTER_GAME),
  'wrong-token': () => {
    onDatagram = (bytes) => { bytes[bytes.length - 1] ^= 0x55; return bytes; };
  },
  'no-token': () => { onDatagram = (bytes) => bytes.subarray(0, bytes.length - 4); },
  'ack-stuck': () => { onDatagram = (bytes) => withAck(bytes, 0); },
  'ack-ahead': () => { onDatagram = (bytes) => withAck(bytes, ackOf(bytes) + 40); },
  'skipped-number': () => {
    onMessage = (message) => {
      if (id(message) === READY && !(message.flag & 2)) client.clientAck += 5;
      return message;
    };
  },
  'same-number': () => {
    onMessage = (message) => {
      if (message.flag & 1) client.clientAck = 0;
      return message;
    };
  },
  'info-not-vital': () => {
    onMessage = (message) => {
      if (id(message) === INFO) message.flag = 0;
      return message;
    };
  },
  'plain-as-compressed': () => { onDatagram = (bytes) => { bytes[0] |= 0x80; return bytes; }; },
  'wrong-chunk-size': () => {
    onMessage = (message) => {
      if (id(message) === READY) Object.defineProperty(message, 'size', { value: 9 });
      return message;
    };
  },
  'wrong-chunk-count': () => { onDatagram = (bytes) => { bytes[2] += 1; return bytes; }; },
  'unterminated-text': () => {
    onMessage = (message) => (id(message) === INFO ? cut(message, message.buffer.length - 2) : message);
  },
  'missing-fields': () => {
    onMessage = (message) => (id(message) === START_INFO ? cut(message, 6) : message);
  },
  'token-later': () => {
    onDatagram = (bytes) => { if (isPlaying) bytes[bytes.length - 1] ^= 0x55; return bytes; };
  },
  'ack-behind': () => {
    onDatagram = (bytes) => (isPlaying && ackOf(bytes) > 1 ? withAck(bytes, 1) : bytes);
  },
  'no-chunks': () => { onDatagram = (bytes) => { if (isPlaying) bytes[2] = 0; return bytes; }; },
  'ready-not-vital': () => {
    onMessage = (message) => {
      if (id(message) === READY) message.flag = 0;
      return message;
    };
  },
  'inputs-vital': () => {
    onMessage = (message) => {
      if (id(message) === INPUT) message.flag = 1;
      return message;
    };
  },
  'short-input': () => {
    onMessage = (message) => (id(message) === INPUT ? cut(message, 4) : message);
  },
  'unknown-flag': () => { onDatagram = (bytes) => { if (isPlaying) bytes[0] |= 0x04; return bytes; }; },
  'always-requests': () => { onDatagram = (bytes) => { bytes[0] |= 0x40; return bytes; }; },
  'wrong-version': () => {
    onMessage = (message) => {
      if (id(message) === INFO) message.result[1] = '9'.charCodeAt(0);
      return message;
    };
  },
};

// Some faults need more traffic.
const seconds = { 'ack-stuck': 7, 'always-requests': 14 }[fault] || 3;

if (!faults[fault]) {
  console.log(`no such fault: ${fault}`);
  process.exit(4);
}
faults[fault]();

const sendMessages = client.SendMsgEx.bind(client);
client.SendMsgEx = (messages, flags) => {
  const given = [messages].flat();
  const kept = given.map(onMessage).filter((message) => message !== undefined);
  // Without messages it is an ack.
  if (kept.length > 0 || given.length === 0) sendMessages(kept, flags);
};
const send = client.socket.send.bind(client.socket);
client.socket.send = (bytes, offset, length, ...rest) => {
  // Before the socket is bound, what was sent comes again, as a list.
  if (!Buffer.isBuffer(bytes)) return send(bytes, offset, length, ...rest);
  const isControl = (bytes[0] & 0x10) !== 0;
  const sent = isControl ? bytes : onDatagram(Buffer.from(bytes));
  return send(sent, 0, sent.length, ...rest);
};

client.on('connected', () => {
  isPlaying = true;
  console.log('connected');
});
client.on('disconnect', (reason, fromServer) => {
  console.log(`disconnected by ${fromServer ? 'server' : 'timeout'} '${reason}'`);
  process.exit(3);
});
client.connect();
setTimeout(() => {
  console.log('over');
  client.Disconnect().then(() => process.exit(0));
}, seconds * 1000);
