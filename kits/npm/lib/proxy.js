// A run of teetap in front of a server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCHEMA, checkVersion, environment, find, jsonLines, sentence } from './binary.js';
import { Connection } from './control.js';
import { BadFilter, BadRule, MissingBinary, Refused, RuleFailed, RunEnded, StartError, WaitTimeout, WrongVersion } from './errors.js';

/** Maximum wait for the start, in milliseconds. */
const START = 20_000;

/** Maximum wait for the end after stdin is closed, and again after SIGTERM, in milliseconds. */
const END = 10_000;

/** Pauses between two searches of the recording while a message is awaited, in milliseconds; the last one repeats. */
const PAUSES = [50, 100, 250, 1000];

/** Maximum number of warnings that are kept for error messages. */
const WARNINGS = 50;

/** Start of the line of an error in a rule, in the output of a program that refused to start. */
const RULE_ERROR = 'error[E';

/** `using` needs these symbols, which older releases of Node.js lack. */
const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

const isMatch = (event) => event.event === 'message' || event.event === 'datagram';

/** Names of the fields that identify a message. */
const KEY = ['session', 'dir', 'name', 'seq', 'datagram', 'ordinal', 'origin', 'size'];
const key = (message) => JSON.stringify(KEY.map((name) => message[name] ?? null));

const list = (given) => (given === undefined ? [] : [given].flat());

/** Temporary folders of runs that were not stopped. */
const folders = new Set();
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Removes an older recording of teetap. Other files stay, and teetap refuses them. */
function replace(path) {
  let start;
  try {
    const file = openSync(path, 'r');
    const bytes = Buffer.alloc(5);
    start = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0)).toString('latin1');
    closeSync(file);
  } catch {
    // There is no file, or teetap says why it cannot be read.
    return;
  }
  if (start.startsWith('\n\r\r\n') || start === '{"v":') unlinkSync(path);
}

/** Statements that a test added to a run. */
export class Rule {
  #proxy;

  constructor(proxy, names) {
    this.#proxy = proxy;
    this.names = names;
  }

  on() {
    return this.#each('rule_on');
  }

  off() {
    return this.#each('rule_off');
  }

  remove() {
    return this.#each('rule_remove');
  }

  async hits() {
    const rules = await this.#proxy.rules();
    return rules.filter((rule) => this.names.includes(rule.name)).reduce((sum, rule) => sum + (rule.hits ?? 0), 0);
  }

  async #each(command) {
    for (const name of this.names) await this.#proxy.command(command, { name });
  }

  async [asyncDispose]() {
    try {
      await this.remove();
    } catch (error) {
      // The run may have ended before.
      if (!(error instanceof RunEnded)) throw error;
    }
  }
}

/** A message that `pause` holds. */
export class Held {
  #proxy;

  constructor(proxy, held) {
    this.#proxy = proxy;
    Object.assign(this, held);
  }

  release() {
    return this.#command('release');
  }

  drop() {
    return this.#command('drop');
  }

  edit(change) {
    return this.#command('edit', typeof change === 'string' ? { message: change } : change);
  }

  async #command(command, fields = {}) {
    await this.#proxy.command(command, { session: this.session, dir: this.dir, held: this.held, ...fields });
  }
}

/** A subscription to the messages that match a filter, from its creation on. */
export class Watch {
  #proxy;
  #filter;
  #connection;

  constructor(proxy, filter, connection) {
    this.#proxy = proxy;
    this.#filter = filter;
    this.#connection = connection;
    this.missed = 0;
  }

  async next(timeout = 5000) {
    const found = await this.until(Date.now() + timeout);
    if (found === null) throw this.#proxy.timedOut(this.#filter, timeout);
    return found;
  }

  /** Resolves to the next message, or to null if there is none before `deadline`. */
  async until(deadline) {
    for (;;) {
      let event;
      try {
        event = await this.#connection.event(deadline - Date.now());
      } catch {
        throw await this.#proxy.ended('wait');
      }
      if (event === null || isMatch(event)) return event;
      if (event.event === 'gap') this.missed += event.lost ?? event.missed ?? 0;
    }
  }

  close() {
    this.#connection.close();
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.close();
  }

  async [asyncDispose]() {
    this.close();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      try {
        const found = await this.until(Date.now() + 3_600_000);
        if (found !== null) yield found;
      } catch (error) {
        if (error instanceof RunEnded) return;
        throw error;
      }
    }
  }
}

/** A run of teetap: `await using proxy = await Proxy.start('127.0.0.1:8303', {rules: [...]})`. */
export class Proxy {
  #binary;
  #folder;
  #socket;
  #record;
  #child;
  #closed;
  #control = null;
  #start = null;
  #warnings = [];
  #position = 0;
  #taken = new Set();
  #findings = null;

  /** `summary` line of the run; null while it runs. */
  summary = null;

  static async start(target, options = {}) {
    const proxy = new Proxy();
    await proxy.#begin(target, options);
    return proxy;
  }

  async #begin(target, { rules, link, profile, ruleFiles, record, listen = '127.0.0.1:0', seed, options = [], binary }) {
    this.#binary = find(binary);
    this.#folder = mkdtempSync(join(tmpdir(), 'teetap-'));
    folders.add(this.#folder);
    this.#socket = join(this.#folder, 'control');
    this.#record = record === undefined ? null : resolve(record);
    if (this.#record) replace(this.#record);
    const ofRules = [
      ...list(rules).flatMap((rule) => ['--rule', rule]),
      ...list(link).flatMap((line) => ['--link', line]),
      ...list(profile).flatMap((name) => ['--profile', name]),
      ...list(ruleFiles).flatMap((file) => ['--rules', file]),
    ];
    const args = ['run', target, '--json', '--quiet', '--until-stdin-closes', '--listen', listen, '--control', this.#socket,
      '--write', this.recording, ...ofRules, ...(seed === undefined ? [] : ['--seed', String(seed)]), ...options];
    const errors = join(this.#folder, 'stderr');
    const stderr = openSync(errors, 'w', 0o600);
    try {
      this.#child = spawn(this.#binary, args, { stdio: ['pipe', 'pipe', stderr], env: environment() });
      await this.#started(errors, ofRules.length > 0);
      this.#control = await Connection.open(this.#socket);
    } catch (error) {
      await this.#clean();
      throw error;
    } finally {
      closeSync(stderr);
    }
  }

  async #started(errors, hasRules) {
    const child = this.#child;
    // The pipe of a process that has ended is broken.
    child.stdin.on('error', () => {});
    let failed = null;
    this.#closed = new Promise((done) => {
      child.once('error', (error) => {
        failed = error;
        done(null);
      });
      child.once('close', (code) => done(code));
    });
    const begun = new Promise((done) => {
      const lines = createInterface({ input: child.stdout });
      lines.on('line', (text) => this.#line(text, done));
      lines.on('error', () => {});
    });
    const late = new AbortController();
    const code = await Promise.race([
      begun.then(() => 'begun'),
      this.#closed,
      sleep(START, 'late', { signal: late.signal }).catch(() => 'late'),
    ]);
    late.abort();
    if (this.#start && this.#start.v !== SCHEMA) {
      throw new WrongVersion(`${this.#binary} writes version ${this.#start.v} of its JSON lines; this package reads version ${SCHEMA}`);
    }
    if (code === 'begun' || (this.#start && code !== 'late')) return;
    if (code === 'late') throw new StartError(`teetap did not start within ${START / 1000} s`);
    if (failed) throw new MissingBinary(`cannot run ${this.#binary}: ${failed.message}`);
    const why = sentence(readFileSync(errors, 'utf8'));
    // An older release refuses the options; another program does anything.
    if (code !== 1 && code !== 3) checkVersion(this.#binary);
    if (code === 2 && hasRules && why.includes(RULE_ERROR)) throw new BadRule(why, code);
    throw new StartError(why || `teetap ended with exit code ${code}`, code);
  }

  #line(text, begun) {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      return;
    }
    if (line.event === 'start') {
      this.#start = line;
      begun();
    } else if (line.event === 'summary') {
      this.summary = line;
    } else if (line.level === 'warning') {
      this.#warnings.push(String(line.text));
      this.#warnings.splice(0, this.#warnings.length - WARNINGS);
    }
  }

  async stop() {
    const child = this.#child;
    if (!child || !this.#folder) return this.summary;
    this.#control?.close();
    for (const step of [() => child.stdin.end(), () => child.kill('SIGTERM'), () => child.kill('SIGKILL')]) {
      step();
      const timer = new AbortController();
      const late = sleep(END, true, { signal: timer.signal }).catch(() => true);
      const isLate = await Promise.race([this.#closed.then(() => false), late]);
      timer.abort();
      if (!isLate) break;
    }
    await this.#clean();
    return this.summary;
  }

  async #clean() {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    // A process that the program has left behind holds stdout: the `close` of the child would wait for it.
    child?.stdin?.destroy();
    child?.stdout?.destroy();
    if (this.#folder && this.#record === null && this.#start && this.#findings === null) {
      // The recording is removed, but not what it says.
      this.#findings = await this.#judged().catch(() => null);
    }
    if (this.#folder) rmSync(this.#folder, { recursive: true, force: true });
    folders.delete(this.#folder);
    this.#folder = null;
  }

  async [asyncDispose]() {
    await this.stop();
    const failed = this.failedRule();
    if (failed !== null) throw new RuleFailed(failed);
  }

  get addr() {
    const [, host, port] = /^(.*):(\d+)$/.exec(this.#fact('listen'));
    const bare = host.replace(/^\[|\]$/g, '');
    const address = { host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[bare] ?? bare, port: Number(port) };
    Object.defineProperty(address, 'toString', {
      value: () => (address.host.includes(':') ? `[${address.host}]:${port}` : `${address.host}:${port}`),
    });
    return address;
  }

  get seed() {
    return this.#fact('seed');
  }

  get version() {
    return this.#fact('version');
  }

  get pid() {
    return this.#child?.pid;
  }

  get recording() {
    return this.#record ?? join(this.#folder ?? tmpdir(), 'run.pcapng');
  }

  get warnings() {
    return [...this.#warnings];
  }

  failedRule() {
    const ended = this.summary?.ended_by;
    if (ended?.kind !== 'fail' && ended?.kind !== 'expect') return null;
    return `rule "${ended.rule}" failed the run: ${ended.why}`;
  }

  #fact(name) {
    if (!this.#start) throw new RunEnded('the run has not started');
    return this.#start[name];
  }

  async command(cmd, fields = {}) {
    try {
      return await this.#control.command(cmd, fields);
    } catch (error) {
      throw error instanceof RunEnded ? await this.ended(cmd) : error;
    }
  }

  async inject(message, { session, vital } = {}) {
    const fields = typeof message === 'string' ? { message } : message;
    await this.command('inject', { session, vital, ...fields });
  }

  async rule(text) {
    const before = (await this.rules()).length;
    try {
      await this.command('rule_add', { text });
    } catch (error) {
      throw error instanceof Refused ? new BadRule(error.why) : error;
    }
    const added = (await this.rules()).slice(before);
    return new Rule(this, added.map((rule) => rule.name));
  }

  async rules() {
    return (await this.command('rules')).rules;
  }

  async held(session) {
    const numbers = session === undefined ? (await this.sessions()).map((one) => one.session) : [session];
    const found = [];
    for (const number of numbers) found.push(...(await this.command('held', { session: number })).held);
    return found.map((held) => new Held(this, held));
  }

  async sessions() {
    return (await this.command('sessions')).sessions;
  }

  async stats() {
    return (await this.command('stats')).stats;
  }

  async resync(session) {
    await this.command('resync', { session });
  }

  async close(reason, { side, session } = {}) {
    await this.command('close', { session, side, reason });
  }

  async watch(filter, { verbose = 0 } = {}) {
    const connection = await Connection.open(this.#socket);
    try {
      await connection.command('subscribe', { filter, verbose });
    } catch (error) {
      connection.close();
      throw error instanceof Refused ? new BadFilter('filter', error.why) : error;
    }
    return new Watch(this, filter, connection);
  }

  async wait(filter, timeout = 5000) {
    const deadline = Date.now() + timeout;
    const watch = await this.watch(filter);
    try {
      for (let turn = -1; ; turn += 1) {
        const pause = turn < 0 ? 0 : PAUSES[Math.min(turn, PAUSES.length - 1)];
        const found = await this.#first(filter, watch, Math.min(deadline, Date.now() + pause), turn < 0);
        if (found) {
          this.#advance(found);
          return found;
        }
        if (Date.now() >= deadline) throw this.timedOut(filter, timeout);
      }
    } finally {
      watch.close();
    }
  }

  async #first(filter, watch, until, isFirst) {
    let found = null;
    try {
      do found = await watch.until(until);
      while (found !== null && !this.#isNew(found));
    } catch (error) {
      const recorded = await this.#recorded(filter);
      if (recorded) return recorded;
      throw error;
    }
    // A message from before the subscription is earlier than any that the subscription has.
    const earlier = found === null || isFirst ? await this.#recorded(filter) : null;
    return earlier ?? found;
  }

  async seen(filter) {
    const lines = await jsonLines(this.#binary, ['grep', '--json', filter ?? 'c2s or s2c', this.recording], this.recording);
    const own = lines.slice(lines.findLastIndex((line) => line.event === 'start') + 1);
    return own.filter(isMatch);
  }

  async #recorded(filter) {
    return (await this.seen(filter)).find((message) => this.#isNew(message)) ?? null;
  }

  #isNew(message) {
    return message.t > this.#position || (message.t === this.#position && !this.#taken.has(key(message)));
  }

  #advance(message) {
    if (message.t > this.#position) this.#taken.clear();
    this.#position = message.t;
    this.#taken.add(key(message));
  }

  async findings({ side, severity } = {}) {
    let found = this.#findings;
    if (found === null) {
      found = await this.#judged();
      if (this.#child.exitCode !== null) this.#findings = found;
    }
    return found.filter((one) => (side === undefined || one.by === side) && (severity === undefined || one.severity === severity));
  }

  async #judged() {
    const lines = await jsonLines(this.#binary, ['judge', '--json', this.recording], this.recording);
    return lines.filter((line) => line.event === 'finding');
  }

  /** Returns the error of a wait that is over. */
  timedOut(filter, timeout) {
    return new WaitTimeout(`no message matched ${JSON.stringify(filter)} for ${timeout / 1000} s${this.#said()}`);
  }

  /** Resolves to the error of a command to a run that has ended, with the reason of the end. */
  async ended(command) {
    if (this.#folder) {
      // The summary follows the end of the control socket.
      const timer = new AbortController();
      await Promise.race([this.#closed, sleep(END, null, { signal: timer.signal }).catch(() => null)]);
      timer.abort();
    }
    const kind = this.summary?.ended_by?.kind;
    const why = this.failedRule() ?? (kind ? `ended by ${kind}` : `the run has ended${this.#said()}`);
    return new RunEnded(`${command}: ${why}`);
  }

  #said() {
    return this.#warnings.slice(-3).map((warning) => `; teetap: ${warning}`).join('');
  }
}
