// The kit between the npm client `teeworlds` and Debian's DDNet server. Needs TEETAP_BIN; tests/run sets it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as teetap from '../index.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const { Client } = createRequire(join(ROOT, 'tests/peers/bot.js'))('teeworlds');
const PATIENCE = 60_000;
/** An address where nothing listens. */
const NOBODY = '127.0.0.1:1';

const folder = mkdtempSync(join(tmpdir(), 'teetap-kit-test-'));
let server;
let address;

/** Returns a UDP port that was free a moment ago. */
async function freePort() {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}

before(async () => {
  const port = await freePort();
  const config = readFileSync(join(ROOT, 'tests/peers/ddnet-server.cfg'), 'utf8');
  writeFileSync(join(folder, 'server.cfg'), `${config}sv_port ${port}\n`);
  server = spawn('/usr/games/DDNet-Server', ['-f', 'server.cfg'], { cwd: folder, env: { ...process.env, HOME: folder } });
  address = `127.0.0.1:${port}`;
  for await (const line of createInterface({ input: server.stdout })) if (line.includes('server: version ')) break;
  server.stdout.resume();
});

after(async () => {
  server.kill();
  await once(server, 'exit');
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves to the first argument list of an event that matches. */
function event(emitter, name, matches = () => true) {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`no event ${name}`)), PATIENCE);
    emitter.on(name, (...values) => {
      if (!matches(...values)) return;
      clearTimeout(timer);
      done(values);
    });
  });
}

/** Joins the server, and runs `play` with the client. */
async function joined(proxy, play) {
  const client = new Client(proxy.addr.host, proxy.addr.port, 'guest');
  const connected = event(client, 'connected');
  let isGone = false;
  client.on('disconnect', () => { isGone = true; });
  client.connect();
  try {
    await connected;
    return await play(client);
  } finally {
    if (isGone) {
      // After a CLOSE of the peer the client cannot disconnect, and leaves its socket open, which keeps this process alive.
      client.clearAllIntervals();
      client.socket?.close();
      client.socket = undefined;
    } else {
      await client.Disconnect();
    }
  }
}

/** Runs `play` with a proxy, as `await using` does. */
async function using(options, play) {
  const proxy = await teetap.Proxy.start(address, options);
  try {
    await play(proxy);
  } finally {
    await proxy[Symbol.asyncDispose]();
  }
  return proxy;
}

const chat = (client, text) => event(client, 'message', (message) => message.message === text);

/** Returns the processes that have a text in their command line. */
function processes(mark) {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return numbers.filter((number) => {
    try {
      return readFileSync(`/proc/${number}/cmdline`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  });
}

describe('a game', { timeout: 5 * PATIENCE }, () => {
  it('joins although cl_start_info is lost', async () => {
    const record = join(folder, 'lost.pcapng');
    const proxy = await using({ rules: 'lost: lose when cl_start_info first 1', record }, async (p) => {
      await joined(p, async () => {
        const info = await p.wait('c2s and cl_start_info and resend', 20_000);
        assert.equal(info.fields.name, 'guest');
        assert.deepEqual((await p.rules()).map((rule) => rule.hits), [1]);
      });
    });
    assert.deepEqual(await proxy.findings({ side: 'client', severity: 'error' }), []);
    assert.equal(proxy.summary.exit, 0);
    assert.ok(statSync(record).size > 1000);
  });

  it('gets an injected chat as an event of the client', async () => {
    await using({}, (p) => joined(p, async (client) => {
      const text = chat(client, 'injected');
      await p.inject('s2c sv_chat{client_id: -1, message: "injected"}');
      await text;
      const quoted = chat(client, 'a "quoted" word');
      await p.inject({ dir: 's2c', name: 'sv_chat', fields: { client_id: -1, message: 'a "quoted" word' } });
      await quoted;
      assert.equal((await p.wait('sv_chat.message contains "quoted"')).origin, 'user');
    }));
  });

  it('is changed by a rule until the rule is removed', async () => {
    await using({}, (p) => joined(p, async (client) => {
      const rule = await p.rule('loud: set .message = "changed" when cl_say');
      for (const [wanted, change] of [['changed', () => rule.off()], ['two', () => rule.on()], ['changed', () => rule.remove()]]) {
        const text = chat(client, wanted);
        client.game.Say('two');
        await text;
        if (wanted === 'changed') assert.ok((await rule.hits()) > 0);
        await change();
      }
      assert.deepEqual(await p.rules(), []);
    }));
  });

  it('is waited for from the start of the run, in order', async () => {
    await using({}, (p) => joined(p, async (client) => {
      const watch = await p.watch('cl_say');
      for (const line of ['one', 'two', 'three']) {
        const text = chat(client, line);
        client.game.Say(line);
        await text;
      }
      for (const line of ['one', 'two', 'three']) {
        assert.equal((await p.wait('cl_say')).fields.message, line);
        assert.equal((await watch.next()).fields.message, line);
      }
      watch.close();
      await assert.rejects(p.wait('cl_say', 300), { name: 'WaitTimeout', message: 'no message matched "cl_say" for 0.3 s' });
      assert.equal((await p.seen('cl_say')).length, 3);
    }));
  });

  it('waits for a held message that is edited and released', async () => {
    await using({ rules: ['chat: pause max 30s when cl_say'] }, (p) => joined(p, async (client) => {
      client.game.Say('hello');
      await p.wait('cl_say');
      const [held] = await p.held();
      assert.equal(held.fields.message, 'hello');
      const text = chat(client, 'HELLO');
      await held.edit({ fields: { message: 'HELLO' } });
      await held.release();
      await text;
      await assert.rejects(held.drop(), { name: 'Refused', why: 'no held message 1' });
    }));
  });

  it('is closed with a reason', async () => {
    await using({}, (p) => joined(p, async (client) => {
      const closed = event(client, 'disconnect');
      await p.close('kicked by the test', { side: 'client' });
      assert.deepEqual(await closed, ['kicked by the test', true]);
    }));
  });

  it('fails with a rule', async () => {
    const rules = 'answer: expect sv_emoticon within 300ms when cl_say';
    const played = using({ rules }, (p) => joined(p, async (client) => {
      const closed = event(client, 'disconnect');
      client.game.Say('hello');
      await assert.rejects(p.wait('sv_emoticon', 20_000), { name: 'RunEnded', message: /^wait: rule "answer" failed the run: / });
      await closed;
    }));
    await assert.rejects(played, { name: 'RuleFailed', message: /^rule "answer" failed the run: / });
  });
});

describe('a wrong use', { timeout: PATIENCE }, () => {
  const script = (text) => {
    const path = join(folder, 'teetap');
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const starts = [
    ['missing', { binary: '/nonexistent' }, 'MissingBinary', /^cannot run \/nonexistent: no such program/],
    ['rule', { rules: 'drup when sv_chat' }, 'BadRule', /unknown action `drup`/],
    ['link', { link: 'both los 5%' }, 'BadRule', /a link has no parameter `los`/],
    ['option', { options: ['--nope'] }, 'StartError', /unexpected argument '--nope'/],
    ['record', { record: '/nonexistent/x.pcapng' }, 'StartError', /^cannot write the recording \/nonexistent\/x.pcapng/],
    ['listen', { listen: '0.0.0.0:0' }, 'StartError', /add --allow-remote/],
  ];
  for (const [what, options, name, message] of starts) {
    it(`is refused with the sentence of teetap: ${what}`, async () => {
      await assert.rejects(teetap.Proxy.start(NOBODY, options), { name, message });
    });
  }

  it('is another version', async () => {
    const old = '[ "$1" = --version ] && echo "teetap 0.0.9" || { echo "error: unexpected argument" >&2; exit 2; }';
    await assert.rejects(teetap.Proxy.start(NOBODY, { binary: script(old) }), { name: 'WrongVersion', message: /is teetap 0.0.9; this package needs/ });
    await assert.rejects(teetap.Proxy.start(NOBODY, { binary: script('echo hello') }), { name: 'WrongVersion', message: /is not teetap/ });
    const other = 'echo \'{"v":9,"event":"start"}\'; exec cat';
    await assert.rejects(teetap.Proxy.start(NOBODY, { binary: script(other) }), { name: 'WrongVersion', message: /writes version 9 of its JSON lines/ });
    // A process of the script that outlives it, and holds its stdout.
    const begin = Date.now();
    const left = '[ "$1" = run ] || exit 1; echo \'{"v":9,"event":"start"}\'; sleep 20; true';
    await assert.rejects(teetap.Proxy.start(NOBODY, { binary: script(left) }), { name: 'WrongVersion' });
    assert.ok(Date.now() - begin < 15_000, 'the start waited for the process');
  });

  it('is named by commands and waits', async () => {
    const proxy = await teetap.Proxy.start(NOBODY);
    await assert.rejects(proxy.rule('drup when sv_chat'), { name: 'BadRule', message: /did you mean `drop`/ });
    await assert.rejects(proxy.wait('sv_chta'), { name: 'BadFilter', message: /unknown message `sv_chta`/ });
    await assert.rejects(proxy.inject('s2c sv_broadcast'), { name: 'Refused', why: 'no session is online' });
    await assert.rejects(proxy.wait('sv_chat', 1500), { name: 'WaitTimeout', message: /nothing listens there/ });
    process.kill(proxy.pid, 'SIGKILL');
    await assert.rejects(proxy.wait('sv_chat'), { name: 'RunEnded' });
    await proxy.stop();
    assert.equal(proxy.summary, null);
  });
});

describe('processes', { timeout: 5 * PATIENCE }, () => {
  it('and files are gone after many runs, eight at once', async () => {
    const own = mkdtempSync(join(folder, 'runs-'));
    const before = process.env.TMPDIR;
    process.env.TMPDIR = own;
    let left = 40;
    const worker = async () => {
      while (left-- > 0) {
        const proxy = await teetap.Proxy.start(NOBODY, { rules: 'one: drop when sv_chat' });
        assert.deepEqual((await proxy.rules()).map((rule) => rule.name), ['one']);
        await proxy.stop();
        assert.equal(proxy.summary.exit, 0);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    assert.deepEqual(readdirSync(own), []);
    assert.deepEqual(processes(own), []);
  });

  it('end with a killed test', async () => {
    const own = mkdtempSync(join(folder, 'killed-'));
    const program = `const { Proxy } = await import(${JSON.stringify(new URL('../index.js', import.meta.url).href)});
      for (let run = 0; run < 3; run += 1) await Proxy.start(${JSON.stringify(NOBODY)});
      console.log('ready'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env: { ...process.env, TMPDIR: own } });
    await once(child.stdout, 'data');
    assert.equal(processes(own).length, 3);
    child.kill('SIGKILL');
    const killed = Date.now();
    while (processes(own).length > 0) {
      assert.ok(Date.now() - killed < 2000, 'teetap is still running');
      await sleep(20);
    }
    assert.deepEqual(readdirSync(own).filter((name) => existsSync(join(own, name, 'control'))), []);
  });

  it('run from the command of the package', () => {
    const command = join(ROOT, 'kits/npm/bin/teetap.js');
    assert.match(execFileSync(process.execPath, [command, '--version'], { encoding: 'utf8' }), /^teetap \d/);
  });
});
