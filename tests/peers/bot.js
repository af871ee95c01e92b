// usage: node bot.js HOST PORT NAME
// A player on the npm client `teeworlds`: says what happens as lines on standard output, takes console lines
// (say, say_team, rcon_auth, rcon, emote, kill, run -1|0|1, jump 0|1, quit) on standard input, like the fifo of a DDNet client.
// Ends with 0 after `quit`, with 3 when the server ended it, with 4 on an unknown console line.
'use strict';
const readline = require('node:readline');
const { Client } = require('teeworlds');

const [host, port, name] = process.argv.slice(2);
const client = new Client(host, Number(port), name);
const tell = (...words) => console.log(...words);
let quitting = false;
let snapshots = 0;

client.on('connected', () => tell(`joined ${name}`));
client.on('map_details', (map) => tell(`map ${map.map_name} ${map.map_size}`));
client.on('motd', (text) => tell(`motd ${JSON.stringify(text)}`));
client.on('kill', (kill) => tell(`kill ${kill.victim_id} weapon ${kill.weapon}`));
client.on('emote', (emote) => tell(`emote ${emote.client_id} ${emote.emoticon}`));
client.on('message', (chat) => {
  const author = chat.author && chat.author.ClientInfo && chat.author.ClientInfo.name;
  tell(chat.client_id === -1 ? `chat *** ${chat.message}` : `chat ${author}: ${chat.message}`);
});
client.on('snapshot', () => {
  snapshots += 1;
  if (snapshots % 25 === 0) tell(`snapshots ${snapshots}`);
  if (client.SnapUnpacker.crc_errors > 0) tell('snapshot crc error');
});
client.on('disconnect', (reason, fromServer) => {
  if (quitting) return;
  tell(`disconnected by ${fromServer ? 'server' : 'timeout'} '${reason}'`);
  process.exit(3);
});
client.rcon.on('rcon_line', (line) => tell(`rcon ${line}`));
client.rcon.on('rcon_auth_status', (status) => tell(`rcon_auth_status ${status.AuthLevel}`));

const actions = {
  say: (text) => client.game.Say(text),
  say_team: (text) => client.game.Say(text, true),
  rcon_auth: (password) => client.rcon.auth(password),
  rcon: (line) => client.rcon.rcon(line),
  emote: (id) => client.game.Emote(Number(id)),
  kill: () => client.game.Kill(),
  run: (way) => { client.movement.input.m_Direction = Number(way); },
  jump: (on) => client.movement.Jump(on === '1'),
  quit: () => {
    quitting = true;
    client.Disconnect().then(() => process.exit(0));
  },
};
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const space = line.indexOf(' ');
  const action = actions[space < 0 ? line : line.slice(0, space)];
  if (!action) {
    tell(`no such command: ${line}`);
    process.exit(4);
  }
  action(space < 0 ? '' : line.slice(space + 1));
});
client.connect();
