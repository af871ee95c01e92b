// usage: node kick.js SOCKET HOST PORT
// Joins a server through a run with --control SOCKET that listens on HOST:PORT, has teetap kick the player, and checks
// the event that the client emits. Needs the npm package `teeworlds`.
'use strict';
const assert = require('node:assert');
const net = require('node:net');
const readline = require('node:readline');
const { Client } = require('teeworlds');

const [path, host, port] = process.argv.slice(2);
const reason = 'kicked by a script';
const control = net.connect(path);
const client = new Client(host, Number(port), 'kicked');

/** Sends a command. */
const send = (command) => control.write(`${JSON.stringify(command)}\n`);

const timer = setTimeout(() => assert.fail('no event within 20 s'), 20_000);

client.on('connected', () => send({ id: 1, cmd: 'sessions' }));

client.on('disconnect', (text, fromServer) => {
  assert.strictEqual(text, reason);
  assert.strictEqual(fromServer, true);
  console.log(`disconnected: ${text}`);
  clearTimeout(timer);
  control.end();
  process.exit(0);
});

readline.createInterface({ input: control }).on('line', (line) => {
  const answer = JSON.parse(line);
  if (answer.event !== 'answer') return;
  assert.ok(answer.done, answer.why);
  if (answer.id === 1) {
    const online = answer.sessions.filter((session) => session.state === 'online');
    assert.strictEqual(online.length, 1);
    send({ id: 2, cmd: 'close', session: online[0].session, side: 'client', reason });
  }
});
control.on('error', (error) => assert.fail(`${path}: ${error.message}`));

client.connect();
